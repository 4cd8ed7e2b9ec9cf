package sql92

import "slices"

// Truth is what an expression says of a message.
type Truth int8

// Unknown is neither: something that was compared is missing. Only True selects a message.
const (
	Unknown Truth = iota
	False
	True
)

// String gives the name.
func (t Truth) String() string { return [...]string{"unknown", "false", "true"}[t] }

// Properties gives a message's property; false if it has none of that name.
type Properties func(name string) (string, bool)

// Expression is a compiled expression. It may be used from any goroutine.
type Expression struct {
	source string
	root   node
}

// String gives the expression as it was written.
func (e *Expression) String() string { return e.source }

// Evaluate tells what the expression says of a message. An error is a property that cannot be compared as the expression
// wants; brokers log it and leave the message out.
func (e *Expression) Evaluate(properties Properties) (Truth, error) {
	v, err := e.root.evaluate(properties)
	switch {
	case err != nil || v.kind != boolean:
		return Unknown, err
	case v.b:
		return True, nil
	default:
		return False, nil
	}
}

// Match tells whether the expression selects a message.
func (e *Expression) Match(properties Properties) bool {
	t, err := e.Evaluate(properties)
	return err == nil && t == True
}

// node is a part of an expression.
type node interface {
	evaluate(Properties) (value, error)
}

type constant struct{ value }

func (c constant) evaluate(Properties) (value, error) { return c.value, nil }

// property is a message's property, by name: a string or null.
type property string

func (n property) evaluate(p Properties) (value, error) {
	if s, ok := p(string(n)); ok {
		return value{kind: characters, s: s}, nil
	}
	return value{}, nil
}

// isTrue is a property alone: a string is no boolean, so it is never true.
type isTrue struct{ of node }

func (n isTrue) evaluate(p Properties) (value, error) {
	v, err := n.of.evaluate(p)
	if err != nil || v.kind == null || v.kind == boolean {
		return v, err
	}
	return truth(false), nil
}

type negation struct{ of node }

func (n negation) evaluate(p Properties) (value, error) {
	v, err := n.of.evaluate(p)
	return v.negative(), err
}

type not struct{ of node }

func (n not) evaluate(p Properties) (value, error) {
	v, err := n.of.evaluate(p)
	if err != nil || v.kind == null {
		return value{}, err
	}
	return truth(!v.b), nil
}

type conjunction struct{ left, right node }

func (n conjunction) evaluate(p Properties) (value, error) { return join(n.left, n.right, p, false) }

type disjunction struct{ left, right node }

func (n disjunction) evaluate(p Properties) (value, error) { return join(n.left, n.right, p, true) }

// join decides as soon as one side decides; the right side is not looked at then.
func join(left, right node, p Properties, decisive bool) (value, error) {
	l, err := left.evaluate(p)
	if err != nil || l.kind == boolean && l.b == decisive {
		return l, err
	}
	r, err := right.evaluate(p)
	if err != nil || r.kind == boolean && r.b == decisive {
		return r, err
	}
	if l.kind == null || r.kind == null {
		return value{}, nil
	}
	return truth(!decisive), nil
}

// equals is =, and IS NULL with a null on the right. A missing property on the left is unknown, on the right false.
type equals struct{ left, right node }

func (n equals) evaluate(p Properties) (value, error) {
	l, err := n.left.evaluate(p)
	if err != nil {
		return l, err
	}
	r, err := n.right.evaluate(p)
	switch {
	case err != nil:
		return r, err
	case l.kind == null && r.kind == null:
		return truth(true), nil
	case l.kind == null:
		return value{}, nil
	case r.kind == null:
		return truth(false), nil
	}
	o, err := compare(l, r)
	return truth(o == 0), err
}

type ordering struct {
	left, right node
	symbol      string
}

func (n ordering) evaluate(p Properties) (value, error) {
	l, err := n.left.evaluate(p)
	if err != nil || l.kind == null {
		return value{}, err
	}
	r, err := n.right.evaluate(p)
	if err != nil || r.kind == null {
		return value{}, err
	}
	o, err := compareOrder(l, r)
	if err != nil {
		return value{}, err
	}
	switch n.symbol {
	case "<":
		return truth(o < 0), nil
	case "<=":
		return truth(o <= 0), nil
	case ">":
		return truth(o > 0), nil
	default:
		return truth(o >= 0), nil
	}
}

type membership struct {
	of      property
	list    []string
	negated bool
}

func (n membership) evaluate(p Properties) (value, error) {
	v, err := n.of.evaluate(p)
	if err != nil || v.kind == null {
		return value{}, err
	}
	return truth(slices.Contains(n.list, v.s) != n.negated), nil
}

// searching is CONTAINS and the like. Of what is missing or no string, and of an empty part, it is false even if negated.
type searching struct {
	in      node
	part    string
	found   func(s, part string) bool
	negated bool
}

func (n searching) evaluate(p Properties) (value, error) {
	v, err := n.in.evaluate(p)
	if err != nil || v.kind != characters || n.part == "" {
		return truth(false), err
	}
	return truth(n.found(v.s, n.part) != n.negated), nil
}

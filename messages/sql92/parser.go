package sql92

import (
	"errors"
	"strings"
)

// maxDepth bounds parentheses and signs within each other. Java's parser gives up somewhere beyond it.
const maxDepth = 200

// Compile reads an expression as brokers do: what follows a complete expression is ignored, see Check. The error is a
// *SyntaxError.
func Compile(source string) (*Expression, error) {
	e, _, err := compile(source)
	return e, err
}

// Check tells what is wrong with an expression, nil if it is good for its whole length. The error is a *SyntaxError.
func Check(source string) error {
	_, p, err := compile(source)
	if err != nil {
		return err
	}
	if p.token.kind != end {
		return p.fault(p.token, "%s does not continue the expression: brokers ignore it and all that follows", p.token)
	}
	return nil
}

func compile(source string) (*Expression, *parser, error) {
	p := &parser{lexer: lexer{source: source}}
	if err := p.advance(); err != nil {
		return nil, nil, err
	}
	n, err := p.or()
	if err != nil {
		return nil, nil, err
	}
	if n, err = p.condition(n); err != nil {
		return nil, nil, err
	}
	return &Expression{source: source, root: n.node}, p, nil
}

// parser is a recursive descent, one method a level of precedence.
type parser struct {
	lexer
	token token
	depth int
}

// operand is a part of an expression with where it begins.
type operand struct {
	node
	at token
}

func (p *parser) fault(at token, format string, args ...any) error {
	return p.lexer.fault(at.at, format, args...)
}

func (p *parser) advance() (err error) {
	p.token, err = p.next()
	return err
}

// accept passes over a symbol or word if it is the next.
func (p *parser) accept(s string) (bool, error) {
	if !p.token.is(s) {
		return false, nil
	}
	return true, p.advance()
}

func (p *parser) expect(s string) error {
	ok, err := p.accept(s)
	if err == nil && !ok {
		err = p.fault(p.token, "%s stands where %s must follow", p.token, s)
	}
	return err
}

// condition makes sure that an operand is true, false or unknown. A property alone counts as a boolean.
func (p *parser) condition(o operand) (operand, error) {
	switch n := o.node.(type) {
	case property:
		o.node = isTrue{n}
	case constant:
		if n.kind != boolean && n.kind != null {
			return o, p.fault(o.at, "%s is neither true nor false", n.value)
		}
	case negation:
		return o, p.fault(o.at, "a number is neither true nor false")
	}
	return o, nil
}

func (p *parser) or() (operand, error) {
	return p.join("OR", p.and, func(l, r node) node { return disjunction{l, r} })
}

func (p *parser) and() (operand, error) {
	return p.join("AND", p.equality, func(l, r node) node { return conjunction{l, r} })
}

// join reads conditions with a word between them.
func (p *parser) join(word string, part func() (operand, error), both func(l, r node) node) (operand, error) {
	left, err := part()
	for err == nil && p.token.is(word) {
		if err = p.advance(); err != nil {
			break
		}
		var right operand
		if right, err = part(); err != nil {
			break
		}
		if left, err = p.condition(left); err != nil {
			break
		}
		if right, err = p.condition(right); err == nil {
			left.node = both(left.node, right.node)
		}
	}
	return left, err
}

func (p *parser) equality() (operand, error) {
	left, err := p.comparison()
	for err == nil {
		switch {
		case p.token.is("="), p.token.is("<>"):
			left, err = p.equal(left)
		case p.token.is("IS"):
			left, err = p.isNull(left)
		default:
			return left, nil
		}
	}
	return left, err
}

func (p *parser) equal(left operand) (operand, error) {
	differs := p.token.is("<>")
	if err := p.advance(); err != nil {
		return left, err
	}
	right, err := p.comparison()
	if err != nil {
		return left, err
	}
	for _, o := range []operand{left, right} {
		if c, ok := o.node.(constant); ok && c.kind == null {
			return left, p.fault(o.at, "NULL cannot be compared: write IS NULL or IS NOT NULL")
		}
	}
	l, lok := left.node.(constant)
	r, rok := right.node.(constant)
	if lok && rok && l.kind == boolean && r.kind != boolean {
		return left, p.fault(left.at, "%s cannot be compared with %s", l.value, r.value)
	}
	left.node = equals{left.node, right.node}
	if differs {
		left.node = not{left.node}
	}
	return left, nil
}

func (p *parser) isNull(left operand) (operand, error) {
	if err := p.advance(); err != nil {
		return left, err
	}
	negated, err := p.accept("NOT")
	if err == nil {
		err = p.expect("NULL")
	}
	if err != nil {
		return left, err
	}
	left.node = equals{left.node, constant{}}
	if negated {
		left.node = not{left.node}
	}
	return left, nil
}

func (p *parser) comparison() (operand, error) {
	left, err := p.unary()
	for err == nil {
		t := p.token
		switch {
		case t.is("<"), t.is("<="), t.is(">"), t.is(">="):
			left, err = p.ordered(left, t.text)
		case t.is("NOT"):
			if err = p.advance(); err == nil {
				left, err = p.predicate(left, true)
			}
		case t.is("BETWEEN"), t.is("IN"), t.is("CONTAINS"), t.is("STARTSWITH"), t.is("ENDSWITH"):
			left, err = p.predicate(left, false)
		default:
			return left, nil
		}
	}
	return left, err
}

func (p *parser) ordered(left operand, symbol string) (operand, error) {
	if err := p.advance(); err != nil {
		return left, err
	}
	right, err := p.unary()
	if err == nil {
		err = errors.Join(p.orderable(left), p.orderable(right))
	}
	left.node = ordering{left.node, right.node, symbol}
	return left, firstOf(err)
}

// orderable refuses what has no order: only numbers and properties have one.
func (p *parser) orderable(o operand) error {
	switch n := o.node.(type) {
	case constant:
		if !n.isNumber() {
			return p.fault(o.at, "%s has no order: <, <=, >, >= and BETWEEN are for numbers", n.value)
		}
	case property, negation:
	default:
		return p.fault(o.at, "a condition has no order: <, <=, >, >= and BETWEEN are for numbers")
	}
	return nil
}

// firstOf gives the first of joined errors.
func firstOf(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // made here
		return joined.Unwrap()[0]
	}
	return err
}

func (p *parser) predicate(left operand, negated bool) (operand, error) {
	t := p.token
	if t.kind != word || t.text != "BETWEEN" && t.text != "IN" && search[t.text] == nil {
		return left, p.fault(t, "%s stands where BETWEEN, IN, CONTAINS, STARTSWITH or ENDSWITH must follow", t)
	}
	if err := p.advance(); err != nil {
		return left, err
	}
	switch t.text {
	case "BETWEEN":
		return p.between(left, negated)
	case "IN":
		return p.in(left, negated)
	}
	return p.contains(left, t.text, negated)
}

func (p *parser) between(left operand, negated bool) (operand, error) {
	low, err := p.unary()
	if err == nil {
		err = p.expect("AND")
	}
	if err != nil {
		return left, err
	}
	high, err := p.unary()
	if err != nil {
		return left, err
	}
	if err := errors.Join(p.orderable(left), p.orderable(low), p.orderable(high)); err != nil {
		return left, firstOf(err)
	}
	l, lok := low.node.(constant)
	h, hok := high.node.(constant)
	if negated {
		left.node = disjunction{ordering{left.node, low.node, "<"}, ordering{left.node, high.node, ">"}}
		return left, nil
	}
	if lok && hok {
		if o, err := compare(h.value, l.value); err != nil || o < 0 {
			return left, p.fault(low.at, "BETWEEN %s AND %s holds nothing: the smaller one comes first", l.value, h.value)
		}
	}
	left.node = conjunction{ordering{left.node, low.node, ">="}, ordering{left.node, high.node, "<="}}
	return left, nil
}

func (p *parser) in(left operand, negated bool) (operand, error) {
	if err := p.expect("("); err != nil {
		return left, err
	}
	var list []string
	for more := true; more; {
		s, err := p.literal()
		if err != nil {
			return left, err
		}
		list = append(list, s)
		if more, err = p.accept(","); err != nil {
			return left, err
		}
	}
	if err := p.expect(")"); err != nil {
		return left, err
	}
	of, ok := left.node.(property)
	if !ok {
		return left, p.fault(left.at, "IN is for a property")
	}
	left.node = membership{of, list, negated}
	return left, nil
}

func (p *parser) contains(left operand, how string, negated bool) (operand, error) {
	s, err := p.literal()
	if err != nil {
		return left, err
	}
	left.node = searching{left.node, s, search[how], negated}
	return left, nil
}

func (p *parser) literal() (string, error) {
	t := p.token
	if t.kind != text {
		return "", p.fault(t, "%s stands where a string in '' must be", t)
	}
	return t.text, p.advance()
}

func (p *parser) unary() (operand, error) {
	if p.depth++; p.depth > maxDepth {
		return operand{}, p.fault(p.token, "more than %d signs and parentheses within each other", maxDepth)
	}
	defer func() { p.depth-- }()
	at := p.token
	switch {
	case at.is("+"), at.is("-"), at.is("NOT"):
		if err := p.advance(); err != nil {
			return operand{}, err
		}
		o, err := p.unary()
		if err == nil && at.is("NOT") {
			o, err = p.condition(o)
			o.node = not{o.node}
		} else if at.is("-") {
			o.node = negation{o.node}
		}
		o.at = at
		return o, err
	}
	return p.primary()
}

func (p *parser) primary() (operand, error) {
	o := operand{at: p.token}
	var err error
	switch t := p.token; {
	case t.kind == text:
		o.node = constant{value{kind: characters, s: t.text}}
	case t.kind == name:
		o.node = property(t.text)
	case t.kind == integer, t.kind == decimal:
		var v value
		if v, err = p.numberOf(t); err != nil {
			return o, err
		}
		o.node = constant{v}
	case t.is("TRUE"), t.is("FALSE"):
		o.node = constant{truth(t.text == "TRUE")}
	case t.is("NULL"):
		o.node = constant{}
	case t.is("("):
		if err = p.advance(); err != nil {
			return o, err
		}
		if o, err = p.or(); err != nil {
			return o, err
		}
		return o, p.expect(")")
	default:
		return o, p.fault(t, "%s stands where a property, a number, a string, TRUE, FALSE, NULL or ( must be", t)
	}
	return o, p.advance()
}

func (p *parser) numberOf(t token) (value, error) {
	read := decimalNumber
	if t.kind == integer {
		read = wholeNumber
	}
	v, err := read(t.text)
	if err != nil {
		return v, p.fault(t, "%s", err)
	}
	return v, nil
}

// search are the words that look into a string.
var search = map[string]func(s, part string) bool{
	"CONTAINS": strings.Contains, "STARTSWITH": strings.HasPrefix, "ENDSWITH": strings.HasSuffix,
}

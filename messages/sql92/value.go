package sql92

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

type kind uint8

const (
	null kind = iota
	boolean
	number32
	number64
	double
	characters
)

// value is what an expression comes to: a number keeps the type it has in Java, since that decides what a property is
// compared as.
type value struct {
	kind kind
	b    bool
	i    int64
	f    float64
	s    string
}

func truth(b bool) value { return value{kind: boolean, b: b} }

func (v value) isNumber() bool { return v.kind == number32 || v.kind == number64 || v.kind == double }

func (v value) String() string {
	switch v.kind {
	case boolean:
		return strings.ToUpper(strconv.FormatBool(v.b))
	case number32, number64:
		return strconv.FormatInt(v.i, 10)
	case double:
		return strconv.FormatFloat(v.f, 'g', -1, 64)
	case characters:
		return "'" + strings.ReplaceAll(v.s, "'", "''") + "'"
	default:
		return "NULL"
	}
}

// wholeNumber makes a constant of a number without decimal point.
func wholeNumber(s string) (value, error) {
	n, err := strconv.ParseInt(strings.TrimRight(s, "lL"), 10, 64)
	if err != nil {
		return value{}, fmt.Errorf("%s is beyond the range of 64 bits", s)
	}
	if n == int64(int32(n)) {
		return value{kind: number32, i: n}, nil
	}
	return value{kind: number64, i: n}, nil
}

// decimalNumber makes a constant of a number with decimal point or exponent. Brokers refuse zero.
func decimalNumber(s string) (value, error) {
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil && math.IsInf(f, 0):
		return value{}, fmt.Errorf("%s is too large", s)
	case f == 0:
		return value{}, fmt.Errorf("%s is too small: brokers take no decimal zero, write 0", s)
	}
	return value{kind: double, f: f}, nil
}

// negative gives the value with its sign changed; what is no number comes to null.
func (v value) negative() value {
	switch v.kind {
	case number32:
		v.i = int64(int32(-v.i))
	case number64:
		v.i = -v.i
	case double:
		v.f = -v.f
	default:
		return value{}
	}
	return v
}

// convert reads a property as the kind of what it is compared with.
func (v value) convert(to kind) (value, error) {
	switch to {
	case boolean:
		return truth(strings.EqualFold(v.s, "true")), nil
	case number32, number64:
		bits := 64
		if to == number32 {
			bits = 32
		}
		n, err := strconv.ParseInt(v.s, 10, bits)
		if err != nil {
			return value{}, fmt.Errorf("property value %q is no whole number of %d bits", v.s, bits)
		}
		return value{kind: to, i: n}, nil
	default:
		f, ok := javaDouble(v.s)
		if !ok {
			return value{}, fmt.Errorf("property value %q is no number", v.s)
		}
		return value{kind: double, f: f}, nil
	}
}

// compare orders two values that are not null; values of kinds that have no order give -1.
func compare(l, r value) (int, error) {
	var err error
	switch {
	case l.kind == r.kind:
	case l.kind == characters:
		l, err = l.convert(r.kind)
	case r.kind == characters && l.kind == boolean:
		err = errBooleanFirst
	case r.kind == characters:
		r, err = r.convert(l.kind)
	case l.isNumber() && r.isNumber():
		l, r = l.widen(r.kind), r.widen(l.kind)
	default:
		return -1, nil
	}
	if err != nil {
		return 0, err
	}
	switch l.kind {
	case boolean:
		return order(bit(l.b), bit(r.b)), nil
	case characters:
		return strings.Compare(l.s, r.s), nil
	case double:
		return orderDoubles(l.f, r.f), nil
	default:
		return order(l.i, r.i), nil
	}
}

// Java's filter fails over this order of the two; the other one works.
var errBooleanFirst = errors.New("a boolean on the left cannot be compared with a string: write the property first")

// widen makes a number as wide as another kind is; never narrower.
func (v value) widen(to kind) value {
	switch {
	case to == double && v.kind != double:
		return value{kind: double, f: float64(v.i)}
	case to == number64 && v.kind == number32:
		v.kind = number64
	}
	return v
}

var errOrderOfStrings = errors.New("strings that are no numbers have no order")

// compareOrder is compare for <, <=, >, >=: two properties are compared as numbers.
func compareOrder(l, r value) (int, error) {
	if l.kind != characters || r.kind != characters {
		return compare(l, r)
	}
	x, ok := javaDouble(l.s)
	y, too := javaDouble(r.s)
	if !ok || !too {
		return 0, errOrderOfStrings
	}
	return orderDoubles(x, y), nil
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func order(l, r int64) int {
	switch {
	case l < r:
		return -1
	case l > r:
		return 1
	default:
		return 0
	}
}

// orderDoubles is Java's Double.compare: -0.0 is below 0.0, NaN above everything and equal to itself.
func orderDoubles(l, r float64) int {
	switch {
	case l < r:
		return -1
	case l > r:
		return 1
	}
	return order(javaBits(l), javaBits(r))
}

func javaBits(f float64) int64 {
	if math.IsNaN(f) {
		return math.MaxInt64
	}
	return int64(math.Float64bits(f))
}

// javaDouble reads a number as Java's Double.valueOf does: blanks around it, a suffix d or f, NaN and Infinity.
func javaDouble(s string) (float64, bool) {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	unsigned := strings.TrimLeft(s, "+-")
	if len(s)-len(unsigned) > 1 || unsigned == "" {
		return 0, false
	}
	switch {
	case unsigned == "NaN":
		return math.NaN(), true
	case unsigned == "Infinity":
		return math.Inf(1 - 2*strings.Count(s, "-")), true
	case !isDigit(unsigned[0]) && unsigned[0] != '.', strings.Contains(s, "_"): // Inf, nan, 1_000 are Go's
		return 0, false
	}
	if strings.IndexByte("dDfF", s[len(s)-1]) >= 0 && !(isHex(unsigned) && !strings.ContainsAny(unsigned, "pP")) {
		s = s[:len(s)-1]
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || math.IsInf(f, 0)
}

func isHex(s string) bool { return strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X") }

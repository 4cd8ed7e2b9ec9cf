package sql92

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// SyntaxError says where an expression is wrong.
type SyntaxError struct {
	Expression string
	// Position is that of the offending character, counted from 1; one more than there are if the end came too soon.
	Position int
	// Reason says what is wrong there.
	Reason string
}

// Error names position and reason.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("SQL92 expression %q, position %d: %s", e.Expression, e.Position, e.Reason)
}

type tokenKind uint8

const (
	end tokenKind = iota
	symbol
	word
	name
	integer
	decimal
	text
)

// token is one word of an expression; text is as written, but upper case for reserved words and decoded for strings.
type token struct {
	kind tokenKind
	text string
	at   int // in bytes
}

// is tells whether the token is a symbol or reserved word.
func (t token) is(s string) bool { return (t.kind == symbol || t.kind == word) && t.text == s }

// String says what the token is, for errors.
func (t token) String() string {
	switch t.kind {
	case end:
		return "the end"
	case text:
		return "the string '" + strings.ReplaceAll(t.text, "'", "''") + "'"
	default:
		return fmt.Sprintf("%q", t.text)
	}
}

var words = map[string]bool{
	"NOT": true, "AND": true, "OR": true, "BETWEEN": true, "IN": true, "TRUE": true, "FALSE": true, "NULL": true, "IS": true,
	"CONTAINS": true, "STARTSWITH": true, "ENDSWITH": true,
}

// lexer cuts an expression into tokens, one ahead of the parser.
type lexer struct {
	source string
	at     int
}

func (l *lexer) fault(at int, format string, args ...any) error {
	return &SyntaxError{
		Expression: l.source, Position: utf8.RuneCountInString(l.source[:at]) + 1, Reason: fmt.Sprintf(format, args...),
	}
}

// next gives the next token.
func (l *lexer) next() (token, error) {
	l.skip()
	rest, at := l.source[l.at:], l.at
	if rest == "" {
		return token{kind: end, at: at}, nil
	}
	switch c := rest[0]; {
	case c == '\'':
		return l.string()
	case isDigit(c) || c == '.':
		return l.number()
	case isLetter(c):
		n := 1
		for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n])) {
			n++
		}
		l.at += n
		if upper := strings.ToUpper(rest[:n]); words[upper] {
			return token{word, upper, at}, nil
		}
		return token{name, rest[:n], at}, nil
	}
	for _, s := range []string{"<>", "<=", ">=", "=", "<", ">", "(", ")", ",", "+", "-"} {
		if strings.HasPrefix(rest, s) {
			l.at += len(s)
			return token{symbol, s, at}, nil
		}
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return token{}, l.fault(at, "%q is not part of the language", r)
}

// skip passes over blanks and comments. A line comment needs the line's end; without it, its dashes are signs.
func (l *lexer) skip() {
	for {
		rest := l.source[l.at:]
		switch {
		case rest != "" && strings.IndexByte(" \t\n\r\f", rest[0]) >= 0:
			l.at++
			continue
		case strings.HasPrefix(rest, "--"):
			if n := strings.IndexAny(rest, "\r\n"); n >= 0 {
				l.at += n + 1
				continue
			}
		case strings.HasPrefix(rest, "/*"):
			if n := strings.Index(rest[2:], "*/"); n >= 0 {
				l.at += 2 + n + 2
				continue
			}
		}
		return
	}
}

func (l *lexer) string() (token, error) {
	at := l.at
	var b strings.Builder
	for i := at + 1; i < len(l.source); i++ {
		if l.source[i] != '\'' {
			b.WriteByte(l.source[i])
			continue
		}
		if i+1 == len(l.source) || l.source[i+1] != '\'' {
			l.at = i + 1
			return token{text, b.String(), at}, nil
		}
		b.WriteByte('\'')
		i++
	}
	return token{}, l.fault(at, "the string does not end: ' is missing")
}

// number takes the longest text that is a number: 5, 5L, 5.5, 5., .5, 5e10.
func (l *lexer) number() (token, error) {
	rest, at := l.source[l.at:], l.at
	whole := digits(rest)
	n, fraction := whole, 0
	if strings.HasPrefix(rest[n:], ".") {
		if fraction = digits(rest[n+1:]); whole+fraction == 0 {
			return token{}, l.fault(at, "'.' is not part of the language: property names hold letters, digits, _ and $ only")
		}
		n += 1 + fraction
	}
	if n < len(rest) && (rest[n] == 'e' || rest[n] == 'E') {
		signed := n + 1
		if signed < len(rest) && (rest[signed] == '+' || rest[signed] == '-') {
			signed++
		}
		if d := digits(rest[signed:]); d > 0 {
			l.at += signed + d
			return token{decimal, rest[:signed+d], at}, nil
		}
	}
	if n > whole {
		l.at += n
		return token{decimal, rest[:n], at}, nil
	}
	if rest[0] == '0' {
		n = 1 // whole numbers do not begin with 0
	} else if n < len(rest) && (rest[n] == 'l' || rest[n] == 'L') {
		n++
	}
	l.at += n
	return token{integer, rest[:n], at}, nil
}

func digits(s string) (n int) {
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$'
}

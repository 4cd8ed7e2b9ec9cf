// Package sql92 reads and evaluates the filter expressions of the type SQL92, as brokers with enablePropertyFilter=true do.
//
// It stands below messages because two that must not know each other need it: the runtime, which looks at an expression
// before anything is sent, and the embedded broker, which filters with it. It knows text and properties only: no message, no
// frame, no port.
//
// The language is that of Apache's broker (its filter package, 5.3): comparisons of properties with numbers, = and <> also
// with strings and booleans, BETWEEN, IN, IS NULL, CONTAINS, STARTSWITH, ENDSWITH (the last three since 5.1.3), AND, OR, NOT,
// three-valued. What it does beside the book is kept, since a filter must select here what it selects there:
//   - text behind a complete expression is ignored: "a LIKE 'x'" is "a". Compile does so too, Check refuses it;
//   - a property alone is false, unless it is missing: then it is unknown;
//   - a property that shall be compared with a number but is none ends the evaluation with an error: no match;
//   - a number without decimal point demands one: the property "5.0" cannot be compared with 5, but with 5.0.
package sql92

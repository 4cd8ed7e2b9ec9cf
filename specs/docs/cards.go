package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// Card is what an actor's comment says of it.
type Card struct {
	Actor  string
	File   string
	Fields map[string]string
	// Receives are the messages in the type switch of its Receive, as written.
	Receives []string
	// Tells are the protobuf messages that the file composes and sends.
	Summary string
}

// cardFields are the lines of a card that say something by name.
var cardFields = []string{"Owns", "Parent", "In", "Out", "States", "Invariants", "Restart", "Source", "In, out"}

var fieldLine = regexp.MustCompile(`^\t?([A-Z][a-z]+(?:, out)?)\s{2,}(.*)$`)

// Cards reads the cards of all actors of a package folder, by file name.
func Cards(dir string) ([]*Card, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	var cards []*Card
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		cards = append(cards, cardsOf(tree, file)...)
	}
	if len(cards) == 0 {
		return nil, fmt.Errorf("no actor in %s: %w", dir, fs.ErrNotExist)
	}
	return cards, nil
}

func cardsOf(tree *ast.File, file string) []*Card {
	receives := make(map[string][]string)
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "Receive" && f.Recv != nil {
			receives[receiver(f)] = switched(f)
		}
	}
	var cards []*Card
	for _, d := range tree.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			name := s.(*ast.TypeSpec).Name.Name
			if got, isActor := receives[name]; isActor {
				card := parseCard(name, g.Doc.Text())
				card.File, card.Receives = filepath.Base(file), got
				cards = append(cards, card)
			}
		}
	}
	return cards
}

func receiver(f *ast.FuncDecl) string {
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	return fmt.Sprint(t)
}

// switched gives the types of the cases of the first type switch, and of a single type assertion in an if.
func switched(f *ast.FuncDecl) []string {
	var out []string
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CaseClause:
			for _, t := range n.List {
				out = append(out, typeName(t))
			}
		case *ast.TypeAssertExpr:
			if n.Type != nil {
				out = append(out, typeName(n.Type))
			}
		}
		return true
	})
	slices.Sort(out)
	return slices.Compact(out)
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func parseCard(actor, text string) *Card {
	c := &Card{Actor: actor, Fields: make(map[string]string)}
	current := ""
	for _, line := range strings.Split(text, "\n") {
		if m := fieldLine.FindStringSubmatch(line); m != nil && slices.Contains(cardFields, m[1]) {
			current = m[1]
			c.Fields[current] = m[2]
			continue
		}
		trimmed := strings.TrimSpace(line)
		switch {
		case current != "" && trimmed != "":
			c.Fields[current] += " " + trimmed
		case current == "" && trimmed != "":
			c.Summary = strings.TrimSpace(c.Summary + " " + trimmed)
		}
	}
	return c
}

// In gives the names of the messages that the card says come in.
func (c *Card) In() []string { return messageNames(c.Fields["In"]) }

var messageName = regexp.MustCompile(`\b[A-Za-z]+\b`)

// messageNames takes the words that name a message out of a card's line: those before any explanation in parentheses.
func messageNames(line string) []string {
	line = regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(line, "")
	var out []string
	for _, part := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ';' }) {
		if w := messageName.FindString(part); w != "" {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

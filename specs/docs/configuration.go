package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
)

var defaultText = regexp.MustCompile(`Default:? ((?:[^.(;]|\.\d)+)`)

var javaName = regexp.MustCompile(`\(?(?:Java's )?\b([a-z]+(?:[A-Z][A-Za-z]+)+)\b`)

// ConfigurationTable makes a table of the fields of the named structs of one folder: Go field, default, Java's name, meaning.
func ConfigurationTable(folder string, structs ...string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return "", err
	}
	var trees []*ast.File
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return "", err
		}
		trees = append(trees, tree)
	}
	var b strings.Builder
	b.WriteString("| field | default | Java | what |\n|---|---|---|---|\n")
	for _, name := range structs {
		fields, err := fieldsOf(trees, name)
		if err != nil {
			return "", err
		}
		for _, f := range fields {
			text := strings.Join(strings.Fields(f.Doc.Text()), " ")
			text = strings.ReplaceAll(text, "|", "\\|")
			fmt.Fprintf(&b, "| `%s.%s` | %s | %s | %s |\n", name, f.Names[0].Name, first(defaultText, text), code(first(javaName, text)), text)
		}
	}
	return b.String(), nil
}

func fieldsOf(trees []*ast.File, name string) (fields []*ast.Field, err error) {
	for _, tree := range trees {
		ast.Inspect(tree, func(n ast.Node) bool {
			t, ok := n.(*ast.TypeSpec)
			if !ok || t.Name.Name != name {
				return true
			}
			if s, ok := t.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					if len(f.Names) > 0 && f.Names[0].IsExported() {
						fields = append(fields, f)
					}
				}
			}
			return false
		})
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("no struct %s with fields", name)
	}
	return fields, nil
}

func first(re *regexp.Regexp, text string) string {
	if m := re.FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[1])
	}
	return ""
}

func code(s string) string {
	if s == "" {
		return "–"
	}
	return "`" + s + "`"
}

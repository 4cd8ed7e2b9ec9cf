package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Feature is a row of the README's table of what the Java client can do.
type Feature struct {
	Java, Here, Spec string
}

// Features reads the rows of a section of a page: "features" or "pull methods".
func Features(page, name string) (rows []Feature) {
	_, section, _ := strings.Cut(page, "<!-- begin "+name+" -->")
	section, _, _ = strings.Cut(section, "<!-- end "+name+" -->")
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) == 3 && !strings.Contains(line, "proved by") {
			rows = append(rows, Feature{
				Java: strings.TrimSpace(cells[0]), Here: strings.TrimSpace(cells[1]), Spec: strings.TrimSpace(cells[2]),
			})
		}
	}
	return rows
}

// Option is a row of a table of configuration.
type Option struct {
	Field, Default, Java string
}

// Options reads the rows of every table of configuration of a page.
func Options(page string) (rows []Option) {
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) == 4 && strings.Contains(cells[0], ".") && strings.HasPrefix(strings.TrimSpace(cells[0]), "`") {
			rows = append(rows, Option{
				Field: strings.Trim(strings.TrimSpace(cells[0]), "`"), Default: strings.TrimSpace(cells[1]),
				Java: strings.Trim(strings.Trim(strings.TrimSpace(cells[2]), "`"), "–"),
			})
		}
	}
	return rows
}

// Refused gives the table of what is deliberately not here.
func Refused(page string) string {
	_, section, _ := strings.Cut(page, "Deliberately not:")
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// SpecSources gives the text of every spec below a folder: test files, and the suites of specs/conformance.
func SpecSources(root string) (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
			return filepath.SkipDir
		case d.IsDir(), !strings.HasSuffix(path, "_test.go") && !strings.Contains(filepath.ToSlash(path), "specs/conformance/"):
			return nil
		}
		text, err := os.ReadFile(path)
		b.Write(text)
		return err
	})
	return b.String(), err
}

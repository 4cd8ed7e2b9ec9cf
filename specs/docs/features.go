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

// Features reads the rows of the section "features" of a page.
func Features(page string) (rows []Feature) {
	_, section, _ := strings.Cut(page, "<!-- begin features -->")
	section, _, _ = strings.Cut(section, "<!-- end features -->")
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

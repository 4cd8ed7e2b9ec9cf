package docs

import (
	"fmt"
	"strings"
)

// Replace puts text between the marks <!-- begin NAME --> and <!-- end NAME --> of a page.
func Replace(page, name, text string) (string, error) {
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->"
	i := strings.Index(page, begin)
	j := strings.Index(page, end)
	if i < 0 || j < i {
		return "", fmt.Errorf("the page has no section %s", name)
	}
	return page[:i+len(begin)] + text + page[j:], nil
}

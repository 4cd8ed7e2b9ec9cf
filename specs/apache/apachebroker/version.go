package apachebroker

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Version is a release of Apache RocketMQ, as Maven names it.
type Version string

// The releases that the specs run against.
const (
	V4_9_7 Version = "4.9.7"
	V5_3_3 Version = "5.3.3"
	V5_5_0 Version = "5.5.0"
)

// VersionsVariable is the environment variable that narrows Versions: a list separated by commas or blanks, e.g. "5.3.3,5.5.0".
const VersionsVariable = "TROUPE_APACHE_VERSIONS"

// AllVersions lists every supported release, oldest first.
func AllVersions() []Version { return []Version{V4_9_7, V5_3_3, V5_5_0} }

// Versions lists the releases to test: those that TROUPE_APACHE_VERSIONS names, in its order, or all of them. A name outside AllVersions is
// an error, so that a typing mistake does not make a suite pass without a broker.
func Versions() ([]Version, error) {
	names := strings.FieldsFunc(os.Getenv(VersionsVariable), func(r rune) bool { return r == ',' || r == ' ' })
	if len(names) == 0 {
		return AllVersions(), nil
	}
	var chosen []Version
	for _, name := range names {
		v := Version(name)
		if !slices.Contains(AllVersions(), v) {
			return nil, fmt.Errorf("%s names %q: supported are %v", VersionsVariable, name, AllVersions())
		}
		if !slices.Contains(chosen, v) {
			chosen = append(chosen, v)
		}
	}
	return chosen, nil
}

// Modern tells whether the release is of the 5.x line: POP, timer wheel, the shaded logging.
func (v Version) Modern() bool { return !strings.HasPrefix(string(v), "4.") }

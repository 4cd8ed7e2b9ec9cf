package wire

import "strconv"

// Language is the implementation language a peer states in its header (LanguageCode).
type Language uint8

// The languages of LanguageCode; JSON headers carry the name, binary headers the number.
const (
	Java   Language = 0
	Cpp    Language = 1
	DotNet Language = 2
	Python Language = 3
	Delphi Language = 4
	Erlang Language = 5
	Ruby   Language = 6
	Other  Language = 7
	HTTP   Language = 8
	Go     Language = 9
	PHP    Language = 10
	OMS    Language = 11
	Rust   Language = 12
	NodeJS Language = 13
)

var languageNames = [...]string{
	"JAVA", "CPP", "DOTNET", "PYTHON", "DELPHI", "ERLANG", "RUBY", "OTHER", "HTTP", "GO", "PHP", "OMS", "RUST", "NODE_JS",
}

// String gives the enum name, e.g. "GO"; a number without a name is written as LANGUAGE_n.
func (l Language) String() string {
	if int(l) < len(languageNames) {
		return languageNames[l]
	}
	return "LANGUAGE_" + strconv.Itoa(int(l))
}

// parseLanguage finds a name; an unknown one is Other, as a peer's language decides nothing that matters.
func parseLanguage(name []byte) Language {
	for i, n := range languageNames {
		if string(name) == n {
			return Language(i)
		}
	}
	return Other
}

// Version is an ordinal of MQVersion.Version: what a peer says it speaks.
const (
	V4_9_3 int32 = 399
	V4_9_4 int32 = 401
	V4_9_7 int32 = 407
	V5_0_0 int32 = 413
	V5_3_3 int32 = 479
	V5_5_0 int32 = 513
)

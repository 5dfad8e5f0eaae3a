package mcpclient

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode"

	"github.com/stet-dev/stet/internal/invisible"
)

// maxName is the maximum length of a tool's name, in bytes, that all models accept.
const maxName = 64

// nameOf returns the name of a server's tool for the model. n is 1 for the first tool with this name, 2 for the second, and so
// on.
func nameOf(server, name string, n int) string {
	full := "mcp__" + simple(server) + "__" + simple(name)
	number := ""
	if n > 1 {
		number = fmt.Sprintf("_%d", n)
	}
	if len(full)+len(number) > maxName {
		sum := sha256.Sum256([]byte(server + "\x00" + name))
		number = fmt.Sprintf("_%x%s", sum[:4], number)
		full = full[:maxName-len(number)]
	}
	return full + number
}

// simple returns s with an underscore in place of each character that is not allowed in the name of a tool.
func simple(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}

// isPlain reports whether a character is visible and cannot deceive a reader.
func isPlain(r rune) bool { return r != unicode.ReplacementChar && invisible.Plain(r) }

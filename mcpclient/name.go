package mcpclient

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode"

	"github.com/stet-dev/stet/internal/invisible"
)

// maxName is the longest name of a tool that all models take, in bytes.
const maxName = 64

// nameOf returns the model's name for a server's tool, the n-th of that name.
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

// simple returns s with an underscore for each character that the name of a tool
// cannot have.
func simple(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}

// isPlain reports whether a character looks like what it is.
func isPlain(r rune) bool { return r != unicode.ReplacementChar && invisible.Plain(r) }

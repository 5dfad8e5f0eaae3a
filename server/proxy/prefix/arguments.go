package prefix

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/stet-dev/stet/internal/rawjson"
)

// Arguments returns the arguments of a call in a normal form, without spaces and with as few escapes as possible. A model writes
// them in another form than the clients that send them back, and each client has its own form. So the same call has the same hash.
// Invalid JSON is not changed.
func Arguments(text string) string {
	if !strings.ContainsAny(text, "\\ \t\r\n") {
		return text
	}
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(text)) != nil {
		return text
	}
	rest := compact.Bytes()
	if !bytes.ContainsRune(rest, '\\') {
		return string(rest)
	}
	out := make([]byte, 0, len(rest))
	for {
		n := bytes.IndexByte(rest, '"')
		if n < 0 {
			return string(append(out, rest...))
		}
		out, rest = append(out, rest[:n]...), rest[n:]
		s := rawjson.New(rest)
		literal := s.Skip().Of(rest)
		said, err := rawjson.Unquote(literal)
		if err != nil {
			return text
		}
		if rest = rest[len(literal):]; strings.ContainsRune(said, utf8.RuneError) { // half of a surrogate pair can only be written as an escape
			out = append(out, literal...)
			continue
		}
		out = append(rawjson.AppendText(append(out, '"'), said), '"')
	}
}

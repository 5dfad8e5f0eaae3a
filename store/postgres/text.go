package postgres

import (
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"
)

// bytesMark is the first character of a text that is stored as the hexadecimal digits of its bytes.
const bytesMark = "\x01"

// keep returns the form in which s is stored in a text column.
func keep(s string) string {
	if utf8.ValidString(s) && !strings.ContainsRune(s, 0) && !strings.HasPrefix(s, bytesMark) {
		return s
	}
	return bytesMark + hex.EncodeToString([]byte(s))
}

// kept is the reverse of keep.
func kept(s string) string {
	if digits, ok := strings.CutPrefix(s, bytesMark); ok {
		if b, err := hex.DecodeString(digits); err == nil {
			return string(b)
		}
	}
	return s
}

// keepAll returns values with the texts among them in the form in which they are stored.
func keepAll(values []any) []any {
	out := slices.Clone(values)
	for i, v := range out {
		if s, ok := v.(string); ok {
			out[i] = keep(s)
		}
	}
	return out
}

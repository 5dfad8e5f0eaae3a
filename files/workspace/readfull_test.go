package workspace

import (
	"errors"
	"strings"
	"testing"
)

// A file is read up to its known size. If its size is not known, it is read to its end, but never past the limit. (FILE-8)
func TestReadFull(t *testing.T) {
	for _, c := range []struct {
		data        string
		size, limit int64
		want        string
		large       bool
	}{
		{"12345", 5, 9, "12345", false},
		{"123", 5, 9, "123", false},        // the file has shrunk
		{"12345678", 5, 9, "12345", false}, // the file has grown
		{"12345678", 5, 5, "12345", false},
		{"12345", 0, 5, "12345", false}, // the system does not report the size
		{"123456", 0, 5, "", true},
		{"123456", 6, 5, "", true},
		{"", 0, 5, "", false},
	} {
		got, err := readFull(t.Context(), strings.NewReader(c.data), c.size, c.limit)
		if string(got) != c.want || errors.Is(err, ErrTooLarge) != c.large || err != nil && !c.large {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

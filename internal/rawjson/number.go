package rawjson

import (
	"errors"
	"math"
	"strconv"
)

// Int reads the whole number at span; false if there is none, or it has a fraction or does not fit.
func Int(body []byte, span Span) (int, bool) {
	if span.KindOf(body) != '0' {
		return 0, false
	}
	lit := span.Of(body)
	n := 0
	for i, c := range lit {
		if c < '0' || c > '9' || i >= 15 {
			f, err := strconv.ParseFloat(string(lit), 64) // -1, 1e3, 2.0
			if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
				return 0, false
			}
			return int(f), true
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

var errCount = errors.New("not a count")

// count stores the number at span in *n. If span is zero, it leaves *n alone. A number below zero, with a fraction, or another
// value is an error.
func count(body []byte, span Span, n *int) error {
	if span.IsZero() {
		return nil
	}
	v, ok := Int(body, span)
	if !ok || v < 0 {
		return errCount
	}
	*n = v
	return nil
}

// Most stores the number at span in *n if it is greater. It leaves *n alone where there is none, or null.
func Most(body []byte, span Span, n *int) error {
	more := *n
	if span.KindOf(body) != 'n' {
		if err := count(body, span, &more); err != nil {
			return err
		}
	}
	*n = max(*n, more)
	return nil
}

// Said stores the string at span in *text. It leaves *text alone if there is no string, or it cannot be decoded.
func Said(body []byte, span Span, text *string) {
	if span.KindOf(body) != '"' {
		return
	}
	if said, err := Unquote(span.Of(body)); err == nil {
		*text = said
	}
}

// Is reports whether the value at span is the string word, written without escapes.
func Is(body []byte, span Span, word string) bool {
	return span.size() == len(word)+2 && body[span.Start] == '"' &&
		string(body[span.Start+1:span.End-1]) == word
}

// Word returns the raw inside of the string at span; nil if the value is not a string. Use it to compare with words that need no
// escapes.
func Word(body []byte, span Span) []byte {
	if span.KindOf(body) != '"' {
		return nil
	}
	return body[span.Start+1 : span.End-1]
}

// True reports whether the value at span is true.
func True(body []byte, span Span) bool { return span.KindOf(body) == 't' }

package trim

import (
	"encoding/json"
	"strings"

	"github.com/stet-dev/stet/trim/dialect"
)

// escapedBreak is a line break in a JSON string.
const escapedBreak = `\n`

// rowsOf returns where in the text of a result the rows of a section stand. A row is a
// line as the tool wrote it: with its number and its line end. Row i takes the bytes
// from rows[i] up to rows[i+1]. The rows stand one below the other, or in a JSON
// string; else rowsOf returns nil.
func rowsOf(text string, s *dialect.Section) []int {
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		if rows := find(text, s, escapedRows(text, s.Start, s.End), unescape); rows != nil {
			return rows
		}
	}
	return find(text, s, plainRows(text, s.Start, s.End, len(s.Lines)+2), func(row string) string { return strings.TrimSuffix(row, "\n") })
}

// plainRows returns where the lines of a text begin between two offsets, and the
// second offset. There are about as many as said.
func plainRows(text string, at, end, about int) []int {
	rows := make([]int, 0, about)
	for at < end {
		rows = append(rows, at)
		i := strings.IndexByte(text[at:end], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	return append(rows, end)
}

// escapedRows is plainRows for the strings in a JSON text. Each string begins and
// ends a row too.
func escapedRows(text string, at, end int) []int {
	rows := []int{at}
	for i := at; i < end; i++ {
		switch text[i] {
		case '"':
			rows = append(rows, i, i+1)
		case '\\':
			if i++; i < end && text[i] == 'n' {
				rows = append(rows, i+1)
			}
		}
	}
	return append(rows, end)
}

// unescape returns the text of a row of a JSON string without its line break.
func unescape(row string) string {
	row = strings.TrimSuffix(row, escapedBreak)
	if !strings.Contains(row, `\`) {
		return row
	}
	var s string
	if json.Unmarshal([]byte(`"`+row+`"`), &s) != nil {
		return row
	}
	return s
}

// find returns the rows that are the lines of s, or nil. read returns the text of
// a row.
func find(text string, s *dialect.Section, rows []int, read func(string) string) []int {
	n := len(s.Lines)
	for k := 0; k+n < len(rows); k++ {
		ok, numbered := prefix(read(text[rows[k]:rows[k+1]]), s.Lines[0], s.First)
		for i := 1; ok && i < n; i++ {
			var same bool
			ok, same = prefix(read(text[rows[k+i]:rows[k+i+1]]), s.Lines[i], s.First+i)
			ok = ok && same == numbered
		}
		if ok {
			return rows[k : k+n+1]
		}
	}
	return nil
}

// prefix reports whether a row is line, bare or behind number n, and whether there is
// the number.
func prefix(row, line string, n int) (ok, numbered bool) {
	if !strings.HasSuffix(row, line) {
		if row = strings.TrimSuffix(row, "\r"); !strings.HasSuffix(row, line) {
			return false, false
		}
	}
	head := row[:len(row)-len(line)]
	if head == "" {
		return true, false
	}
	i, m := 0, 0
	for i < len(head) && (head[i] == ' ' || head[i] == 'L' || head[i] == '0') {
		i++
	}
	for i < len(head) && head[i] >= '0' && head[i] <= '9' && m <= n {
		m = 10*m + int(head[i]-'0')
		i++
	}
	separator := len(head) - i
	return m == n && separator > 0 && separator <= 4, true
}

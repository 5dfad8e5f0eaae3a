// Package report formats figures for commands: tables, lines and JSON, for people and for programs. It gets data and an io.Writer,
// and does no other input or output.
package report

import (
	"fmt"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
)

// Faint, Bold and Good are text styles. They have no effect on a screen without styles.
func Faint(s string) string { return lipgloss.NewStyle().Faint(true).Render(s) }

// Bold is for the most important text.
func Bold(s string) string { return lipgloss.NewStyle().Bold(true).Render(s) }

// Good is for results of stet.
func Good(s string) string { return lipgloss.NewStyle().Foreground(lipgloss.Green).Render(s) }

// Count is a number and its noun: "1 read", "2 reads".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Grouped(n) + " " + noun + "s"
}

// Grouped writes n with commas: 1,234,567.
func Grouped[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Change writes how b differs from a, in per cent.
func Change[N int | int64 | float64](a, b N) string {
	if a == 0 || a == b {
		return "0 %"
	}
	return fmt.Sprintf("%+.1f %%", 100*(float64(b)-float64(a))/float64(a))
}

// share returns n as a percentage of all.
func share(n, all int) string {
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(all))
}

// tail returns the end of a path, which distinguishes files.
func tail(path string, n int) string {
	r := []rune(path)
	if len(r) <= n {
		return path
	}
	return "…" + string(r[len(r)-n+1:])
}

// OneLine puts single spaces between all words.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Cropped cuts s to n characters, 0 or more.
func Cropped(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	return string(r[:n-1]) + "…"
}

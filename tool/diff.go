package tool

import (
	"strings"

	"github.com/stet-dev/stet/internal/diff"
)

// The parts of a Diff: the hunks of a file and their lines.
type (
	FileDiff = diff.File
	Hunk     = diff.Hunk
	Line     = diff.Line
)

// CompareTexts returns the change of a file from one text to another.
func CompareTexts(path, before, after string) FileDiff {
	return FileDiff{Path: path, Diff: diff.Lines(before, after, diff.Options{})}
}

// Diff has what a call would change, as it is shown to a person. It is made once, with the plan. The zero Diff shows nothing.
type Diff struct {
	Files []FileDiff

	// Other is a text that is shown if Files is nil: the arguments of a call to a tool with an unknown effect, or a change whose
	// text is not a unified diff.
	Other string
}

// ParseDiff reads a Diff from its text form, which is used in the JSON of questions and in stored results. A text that [Diff.Text]
// has not made becomes Other, so no byte of it is lost.
func ParseDiff(text string) Diff {
	if files, ok := diff.Parse(text); ok {
		return Diff{Files: files}
	}
	return Diff{Other: text}
}

// Text returns the diff as text: a unified diff of all files, or Other.
func (d Diff) Text() string {
	switch len(d.Files) {
	case 0:
		return d.Other
	case 1:
		return d.Files[0].Text()
	}
	var all strings.Builder
	for _, f := range d.Files {
		all.WriteString(f.Text())
	}
	return all.String()
}

// Empty reports whether the diff shows nothing.
func (d Diff) Empty() bool { return len(d.Files) == 0 && d.Other == "" }

// IsZero makes encoding/json omit an empty diff.
func (d Diff) IsZero() bool { return d.Empty() }

// MarshalText encodes the diff in JSON as a string: its text.
func (d Diff) MarshalText() ([]byte, error) { return []byte(d.Text()), nil }

// UnmarshalText is ParseDiff.
func (d *Diff) UnmarshalText(text []byte) error {
	*d = ParseDiff(string(text))
	return nil
}

// Memory returns approximately how many bytes of memory the diff takes.
func (d Diff) Memory() int64 {
	const perLine = 24 // besides its text
	n := int64(2 * len(d.Other))
	for _, f := range d.Files {
		for _, h := range f.Hunks {
			for _, line := range h.Lines {
				n += int64(perLine + len(line.Text))
			}
		}
	}
	return n
}

package history

import (
	"path"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/dialect"
)

// chunk is lines that stand one below the other, and the number of the first.
type chunk struct {
	first int
	lines []string
}

// chunks splits what a section shows at the lines of ours in it, which say how
// the lines behind them are numbered. A line that only looks like one is the
// file's: ours stands for lines of this very file from its place on.
func chunks(s *dialect.Section) []chunk {
	var out []chunk
	first, from := s.First, 0
	for i, line := range s.Lines {
		if !strings.HasPrefix(line, mark) || !ended(line) {
			continue
		}
		if own := stubs(line); len(own) > 0 && own[0].first == first+i-from && names(own[0].path, s.Path) {
			out = append(out, chunk{first, s.Lines[from:i]})
			first, from = own[0].last+1, i+1
		}
	}
	return append(out, chunk{first, s.Lines[from:]})
}

// ended reports whether a line that begins as standing writes it ends so too.
func ended(line string) bool {
	body, ok := strings.CutSuffix(line, "]")
	_, behind, _ := strings.Cut(body, askAgain)
	return ok && behind == ""
}

// names reports whether a line of ours says name of the file at path; "" is an
// output.
func names(name, file string) bool {
	if file == "" {
		return name == outputName
	}
	return name == plain(file, 200) || name == plain(path.Base(strings.ReplaceAll(file, `\`, "/")), 200)
}

// behind returns the numbered lines that follow a line of ours about lines up
// to last. text begins behind it.
func behind(text string, last int) chunk {
	if _, rest, ok := strings.Cut(text, "]"+escapedBreak); ok && !strings.Contains(text[:len(text)-len(rest)], "\n") {
		rest, _, _ = strings.Cut(rest, `",`) // in a JSON string
		text = "]\n" + strings.NewReplacer(escapedBreak, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`).Replace(rest)
	}
	c := chunk{first: last + 1}
	_, text, _ = strings.Cut(text, "\n")
	for row := range strings.Lines(text) {
		line, ok := numberedLine(strings.TrimSuffix(row, "\n"), c.first+len(c.lines))
		if !ok {
			break
		}
		c.lines = append(c.lines, line)
	}
	return c
}

// numberedLine returns the line that stands behind number n in a row.
func numberedLine(row string, n int) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(row, " L0"), strconv.Itoa(n))
	if !ok {
		return "", false
	}
	for _, separator := range []string{"\t", "→", " | ", "| ", ": ", ". ", ":"} {
		if line, ok := strings.CutPrefix(rest, separator); ok {
			return line, true
		}
	}
	return "", false
}

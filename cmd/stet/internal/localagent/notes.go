package localagent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/cmd/stet/internal/toolset"
	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/workspace"
)

// notesFiles are the names of a project's notes for agents. The first one that exists is used.
var notesFiles = []string{"AGENTS.md", "CLAUDE.md"}

// mostNotes is the limit, in bytes, of a project's notes in the prompt.
const mostNotes = 32 << 10

// notes returns a variable with the project's notes, or none. They take at most a tenth of the window. If a file cannot be read,
// say reports it.
func notes(ctx context.Context, s *toolset.Set, window int, say func(string, ...any)) []agent.Variable {
	for _, name := range notesFiles {
		v, path, err := readNotes(ctx, s.Root, name, min(mostNotes, window/10*3))
		switch {
		case s.Files.Withheld(name) || s.Files.Withheld(path) || errors.Is(err, workspace.ErrNotFound):
			continue
		case err != nil:
			say("the agent does not get the text of %s: %v", name, err)
		case v.Text != "":
			return []agent.Variable{v}
		}
		return nil
	}
	return nil
}

// readNotes reads at most limit bytes of a file. real is its path with links resolved.
func readNotes(ctx context.Context, root *workspace.Root, name string, limit int) (v agent.Variable, real string, err error) {
	path, err := root.Path(name)
	if err != nil {
		return v, "", err
	}
	o := freshness.Observation{Kind: freshness.Read, Path: name, Time: time.Now()}
	pg, err := root.Page(ctx, path, workspace.PageRequest{Lines: limit, Width: -1, Bytes: limit, Version: true})
	if err != nil {
		return v, "", err
	}
	o.Version, o.Stamp, real = pg.Version, pg.Info.Stamp, pg.Info.Path.String()
	var text strings.Builder
	for _, l := range pg.Lines {
		text.WriteString(l.Text + l.End)
	}
	if strings.TrimSpace(text.String()) == "" {
		return v, real, nil
	}
	v = agent.Variable{Name: name, Text: "What the notes of this project say to agents:\n\n" + text.String()}
	n := len(pg.Lines)
	half := pg.Lines[n-1].More > 0
	if !half && pg.Next == 0 {
		v.Shows = []freshness.Observation{o}
		return v, real, nil
	}
	v.Text += fmt.Sprintf("\n[%s is long: this is its beginning, to line %d. Read the rest when you need it.]", name, n)
	if half {
		n--
	}
	if n > 0 {
		o.Lines = freshness.Range{First: 1, Last: n}
		v.Shows = []freshness.Observation{o}
	}
	return v, real, nil
}

package localagent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/workspace"
)

// notesFiles are the names of a project's notes for agents. The first one that exists is used.
var notesFiles = []string{"AGENTS.md", "CLAUDE.md"}

// mostNotes is the limit, in bytes, of a project's notes in the prompt.
const mostNotes = 32 << 10

// notes returns a variable with the project's notes, or none. They take at most a tenth of the window. If a file cannot be read,
// say reports it.
func notes(ctx context.Context, root *workspace.Root, hides func(string) bool, window int, say func(string, ...any)) []agent.Variable {
	for _, name := range notesFiles {
		v, err := readNotes(ctx, root, name, min(mostNotes, window/10*3))
		switch {
		case hides(name) || errors.Is(err, workspace.ErrNotFound):
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

// readNotes reads at most limit bytes of a file.
func readNotes(ctx context.Context, root *workspace.Root, name string, limit int) (agent.Variable, error) {
	path, err := root.Path(name)
	if err != nil {
		return agent.Variable{}, err
	}
	o := freshness.Observation{Kind: freshness.Read, Path: name, Time: time.Now()}
	pg, err := root.Page(ctx, path, workspace.PageRequest{Lines: limit, Width: -1, Bytes: limit, Version: true})
	if err != nil {
		return agent.Variable{}, err
	}
	o.Version, o.Stamp = pg.Version, pg.Info.Stamp
	var text strings.Builder
	for _, l := range pg.Lines {
		text.WriteString(l.Text + l.End)
	}
	if strings.TrimSpace(text.String()) == "" {
		return agent.Variable{}, nil
	}
	v := agent.Variable{Name: name, Text: "What the notes of this project say to agents:\n\n" + text.String()}
	n := len(pg.Lines)
	half := pg.Lines[n-1].More > 0
	if !half && pg.Next == 0 {
		v.Shows = []freshness.Observation{o}
		return v, nil
	}
	v.Text += fmt.Sprintf("\n[%s is long: this is its beginning, to line %d. Read the rest when you need it.]", name, n)
	if half {
		n--
	}
	if n > 0 {
		o.Lines = freshness.Range{First: 1, Last: n}
		v.Shows = []freshness.Observation{o}
	}
	return v, nil
}

// Package filetools has the tools with which an agent works on files: Read,
// read_file, write_file, edit_file, list_files, find_files, search_text, file_info
// and undo. Each tool has a .md file with its description for the model.
//
// A call goes this way:
//
//	call.go      it is planned, and becomes a result
//	args.go      its arguments are parsed by the table from which the schema is made
//	write.go     of a write: the path is inspected, and refused where it cannot be written to
//	content.go   what the file holds now is read
//	draft.go     that is compared with what the client session last saw; the text to be written
//	             becomes a tool.Plan with its diff, merged with what another program has written
//	write.go     the plan is applied by compare-and-swap
//	session.go   what the session has seen and written is remembered
//
// Tools that only read are done when they are planned. The text of a result is a JSON
// object: Read has the standard envelope, the others have a
// FileOperationResult with data.
package filetools

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// Config configures the tools. Root is needed; the zero value of the others is
// the default.
type Config struct {
	Root *workspace.Root

	// Hidden reports paths whose content is not to be shown: searches and listings
	// leave them out. A call that names such a path is decided on as any other. Nil:
	// none.
	Hidden func(path string) bool

	// Relative refuses absolute paths, also those that lead into the workspace, for
	// every call as tool.Call.Relative does for one.
	Relative bool

	// ShowSecrets makes searches look into files of keys and passwords too: see policy.Secret. A call that names such a file is
	// decided on as any other.
	ShowSecrets bool

	// Dedupe answers a repeated read with one line. Nil: every read is
	// answered in full.
	Dedupe *Dedupe

	// Elsewhere returns what the client session of a call did to a file (an absolute path) with other tools than these, the oldest first. It is
	// asked before a write of a file that the session does not know as it is. Nil: nothing is known.
	Elsewhere func(ctx context.Context, c tool.Call, file string) []freshness.Observation

	// Sessions is the number of client sessions that are remembered; 0: 1000. The
	// one that was used least recently is forgotten: then it has read nothing.
	Sessions int

	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // nil: silence
}

// Tools are the tools over one workspace. They may be used concurrently.
type Tools struct {
	cfg  Config
	root *workspace.Root
	all  []tool.Tool

	mu       sync.Mutex
	sessions map[string]*session
	uses     int
}

// New makes the tools.
func New(c Config) (*Tools, error) {
	if c.Root == nil {
		return nil, errors.New("filetools: no workspace")
	}
	c.Sessions = cmp.Or(c.Sessions, 1000)
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Hidden == nil {
		c.Hidden = func(string) bool { return false }
	}
	t := &Tools{cfg: c, root: c.Root, sessions: map[string]*session{}}
	for _, def := range tools {
		t.all = append(t.all, &fileTool{t, def, def.spec(c.Dedupe != nil)})
	}
	return t, nil
}

// Version is the content hash of a file now, "" where there is none.
func (t *Tools) Version(ctx context.Context, path string) (string, error) {
	p, err := t.root.Path(path)
	if err != nil {
		return "", err
	}
	v, err := t.root.Version(ctx, p)
	return string(v), err
}

// All returns the tools, for a tool.Set.
func (t *Tools) All() []tool.Tool { return t.all }

// Aliases are further names of tools, for tool.Set.Alias. Read's messages say LS.
func (t *Tools) Aliases() map[string]string { return map[string]string{"LS": listFilesTool.name} }

// tools are the tools, as they are listed.
var tools = []*toolDef{readTool, readFileTool, writeFileTool, editFileTool, listFilesTool, findFilesTool, searchTextTool, fileInfoTool, undoTool}

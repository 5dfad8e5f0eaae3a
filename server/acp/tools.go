package acp

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/tool"
)

// The tools of a session obey its mode, and know the editor's unsaved changes.

// sessionTools are an agent's tools in a session of the protocol. The session's mode may refuse a call. The result of a read also
// has the unsaved changes in the editor.
type sessionTools struct {
	next tool.Caller
	text func(ctx context.Context, path string) (string, error) // see Workspace.Text

	once  sync.Once
	reads map[string]bool // by name: whether the tool is read-only
}

var _ tool.Starter = (*sessionTools)(nil)

// Specs implements tool.Caller.
func (st *sessionTools) Specs() []tool.Spec { return st.next.Specs() }

// Call implements tool.Caller.
func (st *sessionTools) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	return st.Start(c)(ctx)
}

// Start implements tool.Starter.
func (st *sessionTools) Start(c tool.Call) func(context.Context) (tool.Result, error) {
	work := tool.Start(st.next, c)
	return func(ctx context.Context) (tool.Result, error) {
		t := turnIn(ctx)
		switch {
		case t == nil:
			return work(ctx)
		case st.onlyReads(c.Name):
			res, err := work(ctx)
			if err == nil && !res.Failed() && displayOf(c.Name).file {
				res.Text = st.withUnsaved(ctx, t, c, res.Text)
			}
			return res, err
		}
		if code, why := st.refusal(ctx, t, c); why != "" {
			never, cancel := context.WithCancel(ctx)
			cancel()
			_, _ = work(never) // the call gives up its turn
			return tool.Result{CallID: c.ID, Text: tool.Failure(code, why), Code: code}, nil
		}
		return work(ctx)
	}
}

func (st *sessionTools) onlyReads(name string) bool {
	st.once.Do(func() {
		st.reads = map[string]bool{}
		for _, s := range st.next.Specs() {
			st.reads[s.Name] = s.ReadOnly
		}
	})
	return st.reads[name]
}

// refusal returns why a call that may write is refused, or "" if it is allowed.
func (st *sessionTools) refusal(ctx context.Context, t *turn, c tool.Call) (tool.Code, string) {
	if t.session.currentMode() == modeRead {
		return tool.PermissionDenied, "The person lets you read only: nothing was written. Say what you would change."
	}
	if u, ok := st.unsaved(ctx, t, argumentsOf(string(c.Arguments)).Path); ok && len(u.Hunks) > 0 {
		return tool.ConcurrentModification, "The person has changed this file in the editor and not saved it: nothing was written. " +
			"Ask them to save it, then read it again."
	}
	return "", ""
}

// maxUnsaved is the maximum length, in bytes, of a diff of unsaved changes that the agent gets.
const maxUnsaved = 64 << 10

// withUnsaved adds the unsaved changes in the editor to the result of a read. The result still describes the file on disk: the
// agent has seen that version, and its writes are compared with it.
func (st *sessionTools) withUnsaved(ctx context.Context, t *turn, c tool.Call, result string) string {
	body, whole := strings.CutSuffix(strings.TrimSpace(result), "}")
	u, ok := st.unsaved(ctx, t, argumentsOf(string(c.Arguments)).Path)
	if !ok || len(u.Hunks) == 0 || !whole {
		return result
	}
	unsaved := map[string]string{
		"note": "The person has changed this file in the editor and not saved it. diff leads from what is on disk, shown here, " +
			"to what the editor shows. Writes to the file are refused till it is saved.",
		"diff": u.Unified("on disk", "in the editor"),
	}
	if len(unsaved["diff"]) > maxUnsaved {
		unsaved["note"] = "The person has changed much of this file in the editor and not saved it: ask them to save it. Writes to it are refused till then."
		delete(unsaved, "diff")
	}
	add, err := json.Marshal(unsaved)
	if err != nil {
		return result // strings are always encoded
	}
	return body + `,"unsaved":` + string(add) + "}"
}

// unsaved returns the changes from a file on disk to the editor's buffer. ok is false if there is no buffer, or no text on disk.
func (st *sessionTools) unsaved(ctx context.Context, t *turn, path string) (_ diff.Diff, ok bool) {
	if st.text == nil || path == "" || !t.conn.readsBuffers() {
		return diff.Diff{}, false
	}
	path = t.session.relative(path)
	if _, err := st.text(ctx, path); err != nil {
		return diff.Diff{}, false
	}
	buffer, err := t.buffer(ctx, path)
	if err != nil {
		t.conn.config.log().Debug("buffer", "path", path, "err", err)
		return diff.Diff{}, false
	}
	disk, err := st.text(ctx, path) // read again after the buffer, because the person may just have saved it
	if err != nil {
		return diff.Diff{}, false
	}
	disk, buffer = comparable(disk), comparable(buffer)
	return diff.Lines(disk, buffer, diff.Options{}), true
}

// comparable returns a text without the details that editors do not keep in their buffers: a byte-order mark, the kind of line
// ends, and a line end after the last line.
func comparable(text string) string {
	text = strings.ReplaceAll(invisible.SkipMark(text), "\r\n", "\n")
	if text == "" {
		return ""
	}
	return strings.TrimSuffix(text, "\n") + "\n"
}

// bufferTime is how long an editor may take to return a buffer. After that, the file is treated as if the editor had no buffer.
const bufferTime = 5 * time.Second

// buffer asks the editor for the text of a file.
func (t *turn) buffer(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, bufferTime)
	defer cancel()
	r, err := sdk.SendRequest[sdk.ReadTextFileResponse](t.conn.sdk, ctx, sdk.ClientMethodFsReadTextFile, sdk.ReadTextFileRequest{
		SessionId: sdk.SessionId(t.session.id), Path: t.session.absolute(path),
	})
	return r.Content, err
}

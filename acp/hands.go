package acp

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/tool"
)

// hands are an agent's tools as a session of the protocol has them: held back
// by its mode, and beside what the editor has not saved.
type hands struct {
	next tool.Caller
	text func(ctx context.Context, path string) (string, error) // see Workspace.Text

	once  sync.Once
	reads map[string]bool // the tools that change nothing
}

var _ tool.Starter = (*hands)(nil)

// Specs implements tool.Caller.
func (h *hands) Specs() []tool.Spec { return h.next.Specs() }

// Call implements tool.Caller.
func (h *hands) Call(ctx context.Context, c tool.Call) (tool.Result, error) { return h.Start(c)(ctx) }

// Start implements tool.Starter.
func (h *hands) Start(c tool.Call) func(context.Context) (tool.Result, error) {
	work := func(ctx context.Context) (tool.Result, error) { return h.next.Call(ctx, c) }
	if s, ok := h.next.(tool.Starter); ok {
		work = s.Start(c)
	}
	return func(ctx context.Context) (tool.Result, error) {
		t := turnIn(ctx)
		switch {
		case t == nil:
			return work(ctx)
		case h.onlyReads(c.Name):
			res, err := work(ctx)
			if err == nil && !res.Failed() && looksOf(c.Name).file {
				res.Text = h.withUnsaved(ctx, t, c, res.Text)
			}
			return res, err
		}
		if code, why := h.holdsBack(ctx, t, c); why != "" {
			never, cancel := context.WithCancel(ctx)
			cancel()
			_, _ = work(never) // it has a place in the order of calls, and gives it up
			return refused(c, code, why), nil
		}
		return work(ctx)
	}
}

func (h *hands) onlyReads(name string) bool {
	h.once.Do(func() {
		h.reads = map[string]bool{}
		for _, s := range h.next.Specs() {
			h.reads[s.Name] = s.ReadOnly
		}
	})
	return h.reads[name]
}

// holdsBack says why a call that may write is not made; "" where it may be.
func (h *hands) holdsBack(ctx context.Context, t *turn, c tool.Call) (tool.Code, string) {
	if t.session.currentMode() == modeRead {
		return tool.PermissionDenied, "The person lets you read only: nothing was written. Say what you would change."
	}
	if u, ok := h.unsaved(ctx, t, argumentsOf(string(c.Arguments)).Path); ok && !u.Empty() {
		return tool.ConcurrentModification, "The person has changed this file in the editor and not saved it: nothing was written. " +
			"Ask them to save it, then read it again."
	}
	return "", ""
}

// refused is a failed result in the shape that the tools have.
func refused(c tool.Call, code tool.Code, why string) tool.Result {
	text, err := json.Marshal(map[string]any{"success": false, "error": string(code) + ": " + why})
	if err != nil {
		text = []byte(`{"success":false}`) // two strings are always encoded
	}
	return tool.Result{CallID: c.ID, Text: string(text), Code: code}
}

// changes are what an editor's buffer has that is not on disk.
type changes struct{ diff.Diff }

// Empty reports whether the buffer is what is on disk.
func (c changes) Empty() bool { return len(c.Hunks) == 0 }

// maxUnsaved is the longest diff of unsaved changes that is told, in bytes.
const maxUnsaved = 64 << 10

// withUnsaved is the result of a read with what the editor has not saved. What
// the result says of the disk stays as it is: that is the version that the agent
// has seen, and that its writes are compared with.
func (h *hands) withUnsaved(ctx context.Context, t *turn, c tool.Call, result string) string {
	body, whole := strings.CutSuffix(strings.TrimSpace(result), "}")
	u, ok := h.unsaved(ctx, t, argumentsOf(string(c.Arguments)).Path)
	if !ok || u.Empty() || !whole {
		return result
	}
	told := map[string]string{
		"note": "The person has changed this file in the editor and not saved it. diff leads from what is on disk, shown here, " +
			"to what the editor shows. Writes to the file are refused till it is saved.",
		"diff": u.Unified("on disk", "in the editor"),
	}
	if len(told["diff"]) > maxUnsaved {
		told["note"] = "The person has changed much of this file in the editor and not saved it: ask them to save it. Writes to it are refused till then."
		delete(told, "diff")
	}
	add, err := json.Marshal(told)
	if err != nil {
		return result // strings are always encoded
	}
	return body + `,"unsaved":` + string(add) + "}"
}

// unsaved compares the editor's buffer of a file with the file on disk. It is
// not ok where there is no buffer, or no such text on disk.
func (h *hands) unsaved(ctx context.Context, t *turn, path string) (_ changes, ok bool) {
	if h.text == nil || path == "" || !t.link.readsBuffers() {
		return changes{}, false
	}
	path = t.session.relative(path)
	if _, err := h.text(ctx, path); err != nil {
		return changes{}, false
	}
	buffer, err := t.buffer(ctx, path)
	if err != nil {
		t.link.config.log().Debug("buffer", "path", path, "err", err)
		return changes{}, false
	}
	disk, err := h.text(ctx, path) // after the buffer: it may just have been saved
	if err != nil {
		return changes{}, false
	}
	disk, buffer = comparable(disk), comparable(buffer)
	return changes{diff.Lines(disk, buffer, diff.Options{})}, true
}

// comparable is a text without what editors do not keep in their buffers: a
// byte-order mark, the kind of line ends, and whether the last line has one.
func comparable(text string) string {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	if text == "" {
		return ""
	}
	return strings.TrimSuffix(text, "\n") + "\n"
}

// answering is how long an editor may take to tell what a buffer holds. One
// that takes longer is taken to have no buffer of the file.
const answering = 5 * time.Second

// buffer asks the editor for the text of a file.
func (t *turn) buffer(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answering)
	defer cancel()
	r, err := sdk.SendRequest[sdk.ReadTextFileResponse](t.link.sdk, ctx, sdk.ClientMethodFsReadTextFile, sdk.ReadTextFileRequest{
		SessionId: sdk.SessionId(t.session.id), Path: t.session.absolute(path),
	})
	return r.Content, err
}

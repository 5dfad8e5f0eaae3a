package acp

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/tool"
)

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

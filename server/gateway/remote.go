package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"
	"unsafe"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// Remote is the tool.Caller of a workspace whose host is connected to a gateway. The client session is tool.Call.Session.
type Remote struct {
	h         *Hub
	workspace string
	// Timeout is the time limit of a call, without the time for a person; 0: 30 s. It must not be changed in use.
	Timeout time.Duration
	// Waits is called when a call begins to wait for a person, and when it continues; it may be nil.
	Waits func(ctx context.Context, c tool.Call, waiting bool)
}

var _ tool.Caller = (*Remote)(nil)

// Caller returns the tools of a workspace. The workspace may be without a host for now.
func (h *Hub) Caller(workspace string) *Remote { return &Remote{h: h, workspace: workspace} }

// Specs implements tool.Caller. It returns the tools of the connected host, or none.
func (r *Remote) Specs() []tool.Spec {
	tools, _ := r.h.hosts.tools(r.workspace)
	return specsOf(tools)
}

// Call implements tool.Caller.
func (r *Remote) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	id := c.ID
	if id == "" {
		id = newID()
	}
	session := cmp.Or(c.Session, "gateway-here")
	done := make(chan *wire.ToolResult, 1)
	call := &call{
		h: r.h, to: r.workspace, account: c.Account,
		f: wire.ToolCall{
			TakesParts: true, CallID: session + "/" + id, ToolName: c.Name, Arguments: c.Arguments, Session: session, Client: c.Client,
			Absolute: !c.Relative, TimeoutSeconds: int(r.Timeout / time.Second), ApprovalTimeoutSeconds: int(c.Patience / time.Second),
		},
		tell: func(f wire.Frame) {
			if r.Waits == nil {
				return
			}
			switch f := f.(type) {
			case *wire.ToolResult:
				r.Waits(ctx, c, true)
			case *wire.Progress:
				r.Waits(ctx, c, f.State == wire.Waiting)
			}
		},
		done: func(f *wire.ToolResult, release func()) {
			limits.Keep(ctx, release)
			done <- f
		},
	}
	r.h.start(call)
	stop := context.AfterFunc(ctx, call.cancel)
	defer stop()
	return resultOf(c.ID, <-done)
}

// End tells the host that a client session is over.
func (r *Remote) End(session string) { r.h.leave(clientSession{session, r.workspace}) }

func specsOf(tools []wire.Tool) []tool.Spec {
	out := make([]tool.Spec, len(tools))
	for i, t := range tools {
		out[i] = tool.Spec{Name: t.Name, Description: t.Description, Schema: t.Schema, ReadOnly: t.ReadOnly, Destructive: t.Destructive}
	}
	return out
}

// bytesOf and stringOf convert without a copy, which would be as large as a file. The memory must not be changed afterwards.

func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// resultOf converts a result frame. If the tool broke at the host, it returns an error.
func resultOf(id string, f *wire.ToolResult) (tool.Result, error) {
	if f.Error == string(internalError) {
		var said struct {
			Error string `json:"error"`
		}
		if json.Unmarshal(f.Result, &said) != nil || said.Error == "" {
			said.Error = "the host does not say what"
		}
		return tool.Result{}, errors.New("the call broke at its host: " + said.Error)
	}
	return tool.Result{CallID: id, Text: stringOf(f.Result), Code: tool.Code(f.Error)}, nil
}

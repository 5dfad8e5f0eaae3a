package acp

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/stet-dev/stet/tool"
)

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
			return refused(c, code, why), nil
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

// refused returns a failed result in the format of the tools.
func refused(c tool.Call, code tool.Code, why string) tool.Result {
	text, err := json.Marshal(map[string]any{"success": false, "error": string(code) + ": " + why})
	if err != nil {
		text = []byte(`{"success":false}`) // two strings can always be encoded
	}
	return tool.Result{CallID: c.ID, Text: string(text), Code: code}
}

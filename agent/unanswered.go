package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/tool"
)

// Results of calls that have no result of their own.
const (
	unknown     = "[no result: the program ended before it was stored. Whether the call was done is not known: look before you make it again.]"
	goneBack    = "[no result: the person went back to before it was there. Whether the call was done is not known: look before you make it again.]"
	interrupted = "[no result: the person interrupted before the call was begun. Nothing was done.]"
	unsure      = "[no result: the person interrupted the call. Whether it was done is not known: look before you make it again.]"
	notRun      = "[not run: the answer was not whole. Make the call again if it is needed.]"
	cutCall     = "[not run: the answer reached the limit of its length within this call. Make it again in smaller pieces.]"
)

// refuse stores results for calls that are not run. The results say so.
func (r *run) refuse(ctx context.Context, calls []llm.Part) error {
	for _, call := range calls {
		if err := r.skip(ctx, call, notRun); err != nil {
			return err
		}
	}
	return nil
}

// skip stores a result for a call that is not run. why is the text for the model.
func (r *run) skip(ctx context.Context, call llm.Part, why string) error {
	d := done{call: call, result: failed(call, tool.Cancelled, why)}
	if err := r.append(ctx, result(d)); err != nil {
		return err
	}
	r.tell(Event{Kind: CallEnds, Call: call, Result: d.result})
	return nil
}

// settle stores results for calls of the last answer that have none. Either the process ended before the result was stored,
// or the person went back to a point before the result. The calls are not run again, because they may have been done.
func (r *run) settle(ctx context.Context) error {
	st := r.State()
	why := unknown
	if st.Rewound {
		why = goneBack
	}
	answered := map[string]bool{}
	for i := len(st.Messages) - 1; i >= 0; i-- {
		m := &st.Messages[i]
		if m.Role == llm.Assistant && !m.Local {
			for _, call := range callsOf(*m) {
				if answered[call.CallID] {
					continue
				}
				if err := r.skip(ctx, call, why); err != nil {
					return err
				}
			}
			return nil
		}
		for _, p := range m.Parts {
			if p.Kind == llm.ToolResult {
				answered[p.CallID] = true
			}
		}
		if m.Role == llm.User && !m.Local {
			return nil // the conversation has continued
		}
	}
	return nil
}

// isObject reports whether arguments are a JSON object. Empty arguments count as one, because some models send them for a
// tool without parameters.
func isObject(args string) bool {
	args = strings.TrimSpace(args)
	return args == "" || strings.HasPrefix(args, "{") && json.Valid([]byte(args))
}

// noObject describes what is wrong with arguments that are not a JSON object.
func noObject(args string) string {
	var v map[string]any
	err := json.Unmarshal([]byte(args), &v)
	return fmt.Sprintf("the arguments are no JSON object (%v). Make the call again with one.", err)
}

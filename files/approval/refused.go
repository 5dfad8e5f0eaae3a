package approval

import (
	"fmt"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/tool"
)

// Why a call ends without being done, and what its model reads of it.

// refused is the error of a step that ends a call without doing it. It becomes the call's result and its entry in the trail.
type refused struct {
	decision, by string // for the trail; "": unchanged
	code         tool.Code
	message      string // for the model
	unrecorded   bool
}

func (e *refused) Error() string { return e.message }

// result returns the failed result of the call, with the tool's own text if it has one.
func (e *refused) result(r *run) tool.Result {
	if t, ok := r.t.(tool.Refuser); ok {
		return t.Refuse(r.c, e.code, e.message)
	}
	return tool.Result{CallID: r.c.ID, Text: tool.Failure(e.code, e.message), Code: e.code}
}

func conflict(p *tool.Plan) error {
	return &refused{code: tool.ConcurrentModification, message: fmt.Sprintf(
		"%q was changed again and again meanwhile: nothing was written. Read it again and start from there.", p.Path)}
}

func (r *run) denied(p *tool.Plan, d policy.Decision) error {
	what := r.c.Name
	if p.Path != "" {
		what += fmt.Sprintf(" of %q", p.Path)
	}
	return &refused{decision: "denied", by: "policy " + d.Rule, code: tool.PermissionDenied, message: what + " is refused: " + d.Why + "."}
}

// suspended ends a call of a suspended session.
func (r *run) suspended() error {
	return &refused{code: tool.PermissionDenied, message: "This session is suspended: its calls looked like an attempt to get out of the workspace. Ask the person to resume it."}
}

// nothing says in a sentence what a call that was not done would have done. p may be nil.
func (r *run) nothing(p *tool.Plan) string {
	switch {
	case p == nil && r.t != nil && r.t.Spec().ReadOnly:
		return "Nothing was read."
	case p == nil:
		return "Nothing was written."
	case p.Has(tool.Outside):
		return "The tool was not called."
	case r.writes(p):
		return "Nothing was written."
	}
	return "Nothing was read."
}

func rejection(words, nothing string) string {
	if words == "" {
		return "The person who was asked rejected this. " + nothing
	}
	return "The person who was asked rejected this, and says: " + words
}

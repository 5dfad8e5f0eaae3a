package agent

import (
	"context"
	"encoding/json"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tool"
)

// TaskTool is the name of the tool that gives a task to a sub-agent.
const TaskTool = "task"

var taskSpec = tool.Spec{
	Name: TaskTool,
	Description: "Give a task to another agent that has a window of its own and the same files. It knows nothing of this conversation: " +
		"say all that it needs, and what it is to answer. Its answer is the result. Several tasks that do not depend on each other can run at once.",
	Schema: json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string","description":"the task, in full"}},"required":["prompt"]}`),
}

func (r *run) isTask(call llm.Part) bool { return r.a.Tasks != nil && call.Name == TaskTool }

// billed counts what tasks have used since it was last asked: whoever gave them
// out pays for them. It returns what is to be stored of it.
func (r *run) billed() []session.Body {
	r.tasks.Lock()
	used := r.used
	r.used = llm.Usage{}
	r.tasks.Unlock()
	if used.IsZero() {
		return nil
	}
	r.out.Usage = sum(r.out.Usage, used)
	return []session.Body{session.Usage{Model: r.a.Tasks.Name, Used: used}}
}

// task has a task done in a session that this one has started.
func (r *run) task(ctx context.Context, call llm.Part) (tool.Result, error) {
	var args struct {
		Prompt string `json:"prompt"`
	}
	if err := json.Unmarshal([]byte(call.Args), &args); err != nil || args.Prompt == "" {
		return failed(call, tool.InvalidArgument, "prompt is missing: it says what is to be done."), nil
	}
	sub, err := r.a.Tasks.New(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	st := r.State()
	sub.opening.From = session.Link{Session: st.ID, Seq: st.Last, Relation: session.Started}
	out, err := sub.Run(ctx, []llm.Part{{Kind: llm.Text, Text: args.Prompt}}, func(e Event) {
		if e.Task == "" {
			e.Task = sub.ID()
		}
		r.tell(e)
	})
	r.tasks.Lock()
	r.used = sum(r.used, sub.Spent().Usage)
	r.tasks.Unlock()
	res := tool.Result{CallID: call.CallID, Text: out.Text}
	switch {
	case ctx.Err() != nil:
		return failed(call, tool.Cancelled, unsure), nil
	case err != nil:
		return failed(call, tool.HostUnavailable, "the other agent failed: "+err.Error()), nil
	case out.End != Done:
		res.Code, res.Text = tool.Timeout, "The other agent did not come to an end ("+string(out.End)+"). It said last: "+out.Text
	case out.Text == "":
		res.Text = "The other agent is done and said nothing."
	}
	return res, nil
}

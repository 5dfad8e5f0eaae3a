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

// task runs a task in a new session of the sub-agent.
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
	r.paid(sub)
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

// paid adds what a task has used and cost to this conversation.
func (r *run) paid(task *Conversation) {
	s := task.Spent()
	if s.Usage.IsZero() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before = r.before.plus(bill{s.Usage, s.USD, !s.Known})
	r.byTasks = r.byTasks.Add(s.Usage)
}

package proxy

import (
	"slices"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim"
)

// The engine's state after a request is held with the request (recent.go). The next request of the conversation continues from it.

// planState is the engine's state after it planned a request.
type planState struct {
	state  *trim.State
	engine *trim.Engine
	points []trim.Point // cold points that it was planned at
	behind sentPlan     // how the first messages were sent, if only the rest was planned
}

// sentPlan says how the first messages of a request were sent. Only the messages behind them are planned. The zero value means
// that the whole request is planned.
type sentPlan struct {
	messages int
	trim.Plan
}

// plan plans a request. It continues from the state of the previous request if planning from the beginning would give the same state.
func (r *recent) plan(d *reading, engine *trim.Engine) planState {
	messages, points := d.request.Messages, d.verdict.Points
	for d.compacts && len(messages) > 0 && messages[len(messages)-1].Role == llm.Assistant { // behind an answer text may leave in the middle of work
		messages = messages[:len(messages)-1]
	}
	now := r.take(d.base, engine, d.common)
	if now.state != nil && reaches(messages, now.state.Len(), points, now.points) {
		points = points[len(now.points):]
	} else {
		now = planState{state: engine.NewState(), engine: engine}
	}
	now.points = d.verdict.Points
	now.state.Grow(messages, points)
	return now
}

// planBehind plans a request whose first messages go out as they were sent before.
func planBehind(d *reading, engine *trim.Engine, sent sentPlan) planState {
	now := planState{engine.NewState(), engine, d.verdict.Points, sent}
	messages := llm.Apply(d.request.Messages, sent.Seen().Edits)
	now.state.AddSent(messages[:sent.messages]...)
	now.state.Add(messages[sent.messages:]...)
	return now
}

// reaches reports whether planning the whole request would reach, after n messages, the same state that was planned there at the
// cold points seen. The engine assumes that a request ends exactly where the model answers. So the n messages must end
// before an answer, and the cold points up to there must be the same.
func reaches(messages []llm.Message, n int, points, seen []trim.Point) bool {
	switch {
	case n > len(messages): // the answer at the end of a request for a compaction is not planned; the state may have it
		return false
	case n < len(messages) && messages[n].Role != llm.Assistant:
		return false
	case len(seen) > len(points) || !slices.Equal(seen, points[:len(seen)]):
		return false
	}
	return !slices.ContainsFunc(points[len(seen):], func(p trim.Point) bool { return p.After <= n })
}

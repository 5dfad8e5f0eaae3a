package proxy

import (
	"slices"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
)

// The engine's state of a request that was planned is held with the request (recent.go): the next request of the
// conversation goes on from it.

// planState is the state of an engine that has planned a request.
type planState struct {
	state  *history.State
	engine *history.Engine
	points []history.Point // cold points that it was planned at
	behind sentPlan        // what it was planned behind
}

// sentPlan says how the first messages of a request were sent, where the others are planned behind them. The zero value is
// that of a request that is planned as a whole.
type sentPlan struct {
	messages int
	history.Plan
}

// plan plans a request. It goes on from the state of the request before, if planning as that was would
// come to the same state there.
func (r *recent) plan(d *reading, engine *history.Engine) planState {
	messages, points := d.request.Messages, d.verdict.Points
	now := r.take(d.base, engine, d.common)
	if now.state != nil && reaches(messages, now.state.Len(), points, now.points) && !(d.tries() && now.behind.messages > 0) {
		points = points[len(now.points):]
	} else {
		now = planState{state: engine.NewState(), engine: engine}
	}
	now.points = d.verdict.Points
	now.state.Grow(messages, points)
	return now
}

// planBehind plans a request whose first messages go out as they were sent.
func planBehind(d *reading, engine *history.Engine, sent sentPlan) planState {
	now := planState{engine.NewState(), engine, d.verdict.Points, sent}
	messages := llm.Apply(d.request.Messages, sent.Seen().Edits)
	now.state.AddSent(messages[:sent.messages]...)
	now.state.Add(messages[sent.messages:]...)
	return now
}

// reaches reports whether planning a request as a whole comes, after the first n messages, to a state
// that was planned there at the cold points seen. The engine takes it that a request ended where the model
// answers, and only there. So the n messages must end before an answer, and have the same points.
func reaches(messages []llm.Message, n int, points, seen []history.Point) bool {
	switch {
	case n < len(messages) && messages[n].Role != llm.Assistant:
		return false
	case len(seen) > len(points) || !slices.Equal(seen, points[:len(seen)]):
		return false
	}
	return !slices.ContainsFunc(points[len(seen):], func(p history.Point) bool { return p.After <= n })
}

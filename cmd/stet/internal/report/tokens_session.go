package report

import (
	"slices"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/transcript"
)

// sessionTally is a recorded session: all its messages, and its requests.
type sessionTally struct {
	ID     string `json:"id"`
	Format string `json:"format"`
	tally
	Requests []requestSize `json:"requests"`
	Error    *sizeError    `json:"error,omitempty"` // if the recording contains usage
}

type requestSize struct {
	Message  int `json:"message"` // index of the answer
	Estimate int `json:"estimate"`
	Expected int `json:"expected"`
	Reported int `json:"reported,omitempty"`
}

// sizeError is the error of the expected request sizes, relative to the sizes that the provider reported.
type sizeError struct {
	Requests int     `json:"requests"` // requests after another request with a reported size
	Median   float64 `json:"median"`
	P90      float64 `json:"p90"`
	Slope    float64 `json:"slope"` // real tokens for one estimated token
	Fixed    int     `json:"fixed"` // tokens that are not in the recording
}

func CountSessions(name string, sessions []*transcript.Session, model string) *Tokens {
	c := &Tokens{File: name, Kind: "session"}
	for _, s := range sessions {
		c.Sessions = append(c.Sessions, countSession(s, model))
	}
	return c
}

func countSession(s *transcript.Session, model string) sessionTally {
	if model == "" {
		model = s.Model
	}
	counter, method := counterFor(model)
	memo := &tokens.Memo{Counter: counter}
	t := sessionTally{ID: s.ID, Format: s.Format, Requests: []requestSize{}, tally: tally{
		Model: model, Method: method, Estimated: true, Tokens: tokens.CountMessages(s.Messages, memo), Shares: shares(s.Messages, memo),
	}}
	models := make(map[string]*tokens.Calibration)
	var off []float64
	for _, size := range replay.Sizes(s, memo, models) {
		t.Requests = append(t.Requests, requestSize{size.Answer, size.Estimate, size.Expected, size.Reported})
		if by, ok := size.Off(); ok && size.Follows {
			off = append(off, by)
		}
	}
	if len(off) > 0 {
		slices.Sort(off)
		t.Error = &sizeError{Requests: len(off), Median: off[len(off)/2], P90: off[len(off)*9/10]}
		if m := models[s.Model]; m != nil {
			t.Error.Slope, t.Error.Fixed = m.Slope(), m.Fixed()
		}
	}
	return t
}

func shares(messages []llm.Message, c tokens.Counter) []tokenShare {
	names := map[llm.Kind]string{llm.Text: "text", llm.Thinking: "thinking", llm.ToolCall: "call", llm.ToolResult: "result", llm.Opaque: "other"}
	var all []tokenShare
	for _, s := range tokens.Shares(messages, c) {
		all = append(all, tokenShare{s.Role, names[s.Kind], s.Parts, s.Tokens})
	}
	return all
}

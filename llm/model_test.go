package llm

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestStop(t *testing.T) {
	call := Part{Kind: ToolCall, CallID: "1"}
	refusal := Part{Kind: Opaque, Raw: `{"refusal": "no", "type": "refusal"}`}
	for _, c := range []struct {
		reason string
		parts  []Part
		want   Stop
	}{
		{"end_turn", nil, StopDone}, {"stop", []Part{{Text: "x"}}, StopDone}, {"completed", []Part{call}, StopCalls},
		{"tool_use", []Part{call}, StopCalls}, {"tool_calls", nil, StopDone}, {"stop", []Part{refusal}, StopRefused},
		{"completed", []Part{refusal, call}, StopCalls}, {"max_tokens", []Part{call}, StopLimit}, {"length", nil, StopLimit},
		{"max_output_tokens", nil, StopLimit}, {"refusal", nil, StopRefused}, {"content_filter", nil, StopRefused},
		{"pause_turn", nil, StopPaused}, {"", nil, StopOther}, {"failed", nil, StopOther},
	} {
		r := Response{StopReason: c.reason, Message: Message{Parts: c.parts}}
		if got := r.Stop(); got != c.want {
			t.Errorf("%q: %v, want %v", c.reason, got, c.want)
		}
	}
}

func TestErrorText(t *testing.T) {
	err := error(&Error{Host: "h", Status: 529, Code: "busy", Message: "come back", RequestID: "r1", RetryAfter: time.Second, Kind: ErrOverloaded})
	if got, want := err.Error(), "h: model overloaded or rate limited: status 529 busy: come back (request r1)"; got != want || !errors.Is(err, ErrOverloaded) {
		t.Errorf("%s", got)
	}
	if got, want := (&Error{Host: "h"}).Error(), "h: in the answer"; got != want {
		t.Errorf("%s", got)
	}
}

// A Kind prints as a word.
func TestKindPrints(t *testing.T) {
	if got := fmt.Sprint(Text, ToolCall, Kind(99)); got != "text tool call kind 99" {
		t.Error(got)
	}
}

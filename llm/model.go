package llm

import (
	"context"
	"encoding/json"
	"time"
)

// Model answers requests. Its methods may be called concurrently and do not change the request. They ignore Request.Stream.
//
// An error from the endpoint wraps an *[Error] and, if one of them applies, [ErrOverloaded], [ErrTooLong], [ErrAuth] or
// [ErrInvalid]. An answer that was cut off gives [ErrBroken]. When the context ends, its error is returned at once. Temporary
// failures are retried, with growing pauses, until the first piece of an answer arrives. After that the caller decides.
type Model interface {
	// Complete returns the whole answer.
	Complete(ctx context.Context, req *Request) (*Response, error)

	// Stream calls each with every piece of the answer as it arrives, in the caller's goroutine. It returns the whole
	// answer at the end. each may be nil.
	//
	// On an error the Response holds what arrived: the complete parts, and the text so far. It is nil if nothing arrived. Incomplete
	// calls and thinking are left out, because they cannot be sent back.
	Stream(ctx context.Context, req *Request, each func(Event)) (*Response, error)
}

// ThinkingChecker is a Model whose provider may refuse a request if something before a block of thinking has changed since the block
// was made. Whether it does depends on the model.
type ThinkingChecker interface{ ChecksThinking() bool }

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of events. The events of one part come in order: deltas, then the whole call. Index identifies the part.
const (
	TextDelta     EventKind = iota // Text was added to the text at Index
	ThinkingDelta                  // Text was added to the thinking at Index; Text may be empty
	CallDelta                      // Text was added to the arguments of the call at Index; Call has ID and name
	CallDone                       // the call at Index is complete, as Call; if the answer stops at its limit, the last call may be cut off
	UsageSaid                      // Usage is the usage known so far
	Stopped                        // the answer is complete; Reason is the provider's word
	Retrying                       // Err came before any answer; the next attempt starts after Wait
)

// Event is one piece of an answer.
type Event struct {
	Kind   EventKind
	Index  int // of the part in the answer's Message.Parts
	Text   string
	Call   Part
	Usage  Usage
	Reason string
	Err    error
	Wait   time.Duration
}

// Stop is the reason why an answer ended, the same for all providers.
type Stop uint8

const (
	StopDone    Stop = iota // the model finished its answer
	StopCalls               // the model waits for the results of its calls
	StopLimit               // the token limit or the window cut it off: the last call may be incomplete
	StopRefused             // the model or a filter refused to continue
	StopPaused              // the provider paused a long turn: send the answer back to continue
	StopOther               // another reason
)

// Stop returns why the answer ended. Some providers do not report calls or a refusal as the stop reason. So the content of
// the answer is checked too.
func (r *Response) Stop() Stop {
	switch r.StopReason {
	case "end_turn", "stop", "stop_sequence", "completed", "tool_use", "tool_calls", "function_call":
		return r.stopWell()
	case "max_tokens", "length", "max_output_tokens", "model_context_window_exceeded":
		return StopLimit
	case "refusal", "content_filter":
		return StopRefused
	case "pause_turn":
		return StopPaused
	}
	return StopOther
}

func (r *Response) stopWell() Stop {
	stop := StopDone
	for _, p := range r.Message.Parts {
		if p.Kind == ToolCall {
			return StopCalls
		}
		var said struct{ Type string }
		if p.Kind == Opaque && json.Unmarshal([]byte(p.Raw), &said) == nil && said.Type == "refusal" {
			stop = StopRefused
		}
	}
	return stop
}

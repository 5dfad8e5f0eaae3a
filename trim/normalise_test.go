package trim

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stet-dev/stet/llm"
	"pgregory.net/rapid"
)

func toolCall(id string) llm.Part {
	return llm.Part{Kind: llm.ToolCall, CallID: id, Name: "x", Args: "{}"}
}
func answering(id string) llm.Part {
	return llm.Part{Kind: llm.ToolResult, CallID: id, Text: "result " + id}
}
func say(role llm.Role, parts ...llm.Part) llm.Message { return llm.Message{Role: role, Parts: parts} }
func words(s string) llm.Part                          { return llm.Part{Text: s} }

// CTX-3, TRIM-13: local messages and orphans leave, and results are merged.
func TestNormalize(t *testing.T) {
	in := []llm.Message{
		say(llm.System, words("be brief")),
		say(llm.User, words("go")),
		{Role: llm.Assistant, Parts: []llm.Part{words("reading…")}, Local: true},
		say(llm.Assistant, words("both"), toolCall("1"), toolCall("2"), toolCall("never answered")),
		say(llm.Tool, answering("2")),
		say(llm.User, words("by the way")),
		say(llm.Tool, answering("1"), answering("nobody asked"), answering("1")),
		say(llm.Assistant, llm.Part{Kind: llm.Thinking, Raw: "{}"}, toolCall("interrupted")),
		say(llm.User, words("")),
		say(llm.User, words("on")),
	}
	want := []llm.Message{
		in[0], in[1],
		say(llm.Assistant, words("both"), toolCall("1"), toolCall("2")),
		say(llm.Tool, answering("2"), answering("1")),
		in[5], in[9],
	}
	if got := Normalize(in); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

// If the id of a call is used again later, the later result does not answer the earlier call.
func TestNormalizeIdsUsedAgain(t *testing.T) {
	in := []llm.Message{
		say(llm.User, words("go")),
		say(llm.Assistant, words("first"), toolCall("0")),
		say(llm.User, words("stop")),
		say(llm.Assistant, words("second"), toolCall("0"), toolCall("0")),
		say(llm.Tool, answering("0"), answering("0")),
	}
	want := []llm.Message{in[0], say(llm.Assistant, words("first")), in[2], in[3], in[4]}
	if got := Normalize(in); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestNormalizeBeginsWithUser(t *testing.T) {
	got := Normalize([]llm.Message{say(llm.System, words("s")), say(llm.Assistant, words("hello"))})
	if len(got) != 3 || got[1].Role != llm.User {
		t.Errorf("%+v should have a user's message before the assistant's", got)
	}
}

// CTX-3: for any input the output is valid and in the same order. Normalising it again changes nothing.
func TestNormalizeAlwaysValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in []llm.Message
		for range rapid.IntRange(0, 12).Draw(t, "messages") {
			m := llm.Message{Role: rapid.SampledFrom([]llm.Role{llm.User, llm.Assistant, llm.Tool}).Draw(t, "role")}
			m.Local = rapid.IntRange(0, 9).Draw(t, "local") == 0
			for range rapid.IntRange(0, 4).Draw(t, "parts") {
				id := fmt.Sprint(rapid.IntRange(1, 4).Draw(t, "id"))
				switch m.Role {
				case llm.User:
					m.Parts = append(m.Parts, words(rapid.SampledFrom([]string{"", "text"}).Draw(t, "text")))
				case llm.Assistant:
					m.Parts = append(m.Parts, rapid.SampledFrom([]llm.Part{words("text"), toolCall(id), {Kind: llm.Thinking, Raw: "{}"}}).Draw(t, "part"))
				default:
					m.Parts = append(m.Parts, rapid.SampledFrom([]llm.Part{answering(id), {Kind: llm.Opaque, Raw: `{"type":"image"}`}}).Draw(t, "part"))
				}
			}
			in = append(in, m)
		}
		out := Normalize(in)
		checkValid(t, out)
		if again := Normalize(out); !reflect.DeepEqual(again, out) {
			t.Fatalf("normalised again it differs:\n%+v\n%+v", out, again)
		}
	})
}

func checkValid(t *rapid.T, out []llm.Message) {
	var open map[string]int
	for i, m := range out {
		if len(m.Parts) == 0 || m.Local {
			t.Fatalf("message %d is empty or local", i)
		}
		if i == 0 && m.Role != llm.User {
			t.Fatalf("begins with %s", m.Role)
		}
		if len(open) > 0 != (m.Role == llm.Tool) {
			t.Fatalf("message %d: a turn's calls and results do not follow each other", i)
		}
		if m.Role == llm.Tool && m.Parts[0].Kind != llm.ToolResult {
			t.Fatalf("message %d begins with something that is no result", i)
		}
		asked := make(map[string]int)
		for _, p := range m.Parts {
			switch p.Kind {
			case llm.ToolCall:
				asked[p.CallID]++
			case llm.ToolResult:
				if open[p.CallID] == 0 {
					t.Fatalf("message %d: result %s without a call", i, p.CallID)
				}
				if open[p.CallID]--; open[p.CallID] == 0 {
					delete(open, p.CallID)
				}
			}
		}
		if len(open) > 0 {
			t.Fatalf("message %d: calls %v without results", i, open)
		}
		open = asked
	}
	if len(open) > 0 {
		t.Fatalf("ends with calls %v open", open)
	}
}

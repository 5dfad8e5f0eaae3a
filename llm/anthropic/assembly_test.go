package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// events returns a stream of the given events.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		fmt.Fprintf(&b, "data: %s\n\n", d)
	}
	return b.String()
}

func started(index int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, block)
}

func delta(index int, d string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, d)
}

func stopped(index int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index) }

const (
	messageStart = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{}}}`
	messageEnd   = `{"type":"message_stop"}`
)

// assembledOf reads an answer in pieces of n bytes.
func assembledOf(contentType, answer string, n int) (string, string, bool) {
	a := NewAssembly(contentType)
	for len(answer) > 0 {
		m := min(n, len(answer))
		_, _ = a.Write([]byte(answer[:m]))
		answer = answer[m:]
	}
	id, items, ok := a.Answer()
	return id, string(bytes.Join(items, nil)), ok
}

// A block of any kind gets the same form as in an answer that is not streamed (WIRE-3, WIRE-8).
func TestAssembly(t *testing.T) {
	for _, c := range []struct{ name, stream, content string }{
		{"nothing", events(messageStart, messageEnd), ``},
		{"text in pieces", events(messageStart, `{"type":"ping"}`, started(0, `{"type":"text","text":"x"}`), delta(0, `{"type":"text_delta","text":"a \""}`), delta(0, `{"type":"text_delta","text":"日\n"}`), stopped(0), messageEnd),
			`{"type":"text","text":"xa \"日\n"}`},
		{"citations", events(messageStart, started(0, `{"type":"text","text":"","citations":[]}`), delta(0, `{"type":"citations_delta","citation":{"type":"char_location","cited_text":"c","x":[1]}}`),
			delta(0, `{"type":"text_delta","text":"t"}`), delta(0, `{"type":"citations_delta","citation":{"n":2}}`), stopped(0), messageEnd),
			`{"type":"text","text":"t","citations":[{"type":"char_location","cited_text":"c","x":[1]},{"n":2}]}`},
		{"thinking with its signature", events(messageStart, started(0, `{"type":"thinking","thinking":"","signature":""}`), delta(0, `{"type":"thinking_delta","thinking":"hm"}`),
			delta(0, `{"type":"thinking_delta","thinking":" hm"}`), delta(0, `{"type":"signature_delta","signature":"Ab+/="}`), stopped(0), messageEnd),
			`{"type":"thinking","thinking":"hm hm","signature":"Ab+/="}`},
		{"thinking that is not shown", events(messageStart, started(0, `{"type":"thinking","thinking":"","signature":""}`), delta(0, `{"type":"signature_delta","signature":"s"}`), stopped(0), messageEnd),
			`{"type":"thinking","thinking":"","signature":"s"}`},
		{"redacted thinking", events(messageStart, started(0, `{"type":"redacted_thinking","data":"x\/y"}`), stopped(0), messageEnd), `{"type":"redacted_thinking","data":"x\/y"}`},
		{"a call", events(messageStart, started(0, `{"type":"tool_use","id":"t1","name":"n","input":{},"caller":{"type":"direct"}}`), delta(0, `{"type":"input_json_delta","partial_json":""}`),
			delta(0, `{"type":"input_json_delta","partial_json":"{\"a\": \"x\\/"}`), delta(0, `{"type":"input_json_delta","partial_json":"\\u00e9\", \"b\" :[1, 2.0]}"}`), stopped(0), messageEnd),
			`{"type":"tool_use","id":"t1","name":"n","caller":{"type":"direct"},"input":{"a": "x\/\u00e9", "b" :[1, 2.0]}}`},
		{"a call without arguments", events(messageStart, started(0, `{"type":"tool_use","id":"t1","name":"n","input":{}}`), delta(0, `{"type":"input_json_delta","partial_json":""}`), stopped(0), messageEnd),
			`{"type":"tool_use","id":"t1","name":"n","input":{}}`},
		{"server tools", events(messageStart, started(0, `{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}`), delta(0, `{"type":"input_json_delta","partial_json":"{\"query\":\"q\"}"}`), stopped(0),
			started(1, `{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"type":"web_search_result","encrypted_content":"e"}]}`), stopped(1), messageEnd),
			`{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"q"}},{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"type":"web_search_result","encrypted_content":"e"}]}`},
		{"a compaction", events(messageStart, started(0, `{"type":"compaction","content":null}`), delta(0, `{"type":"compaction_delta","content":"all of it","encrypted_content":"e"}`), stopped(0), messageEnd),
			`{"type":"compaction","content":"all of it","encrypted_content":"e"}`},
		{"a block that is not known", events(messageStart, started(0, `{"type":"hologram","depth" : 3}`), stopped(0), `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, messageEnd), `{"type":"hologram","depth" : 3}`},
		{"an event that is not known", events(messageStart, `{"type":"weather","sunny":true}`, messageEnd), ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := `{"role":"assistant","content":[` + c.content + `]}`
			for _, n := range []int{1, 7, 1 << 20} {
				id, got, ok := assembledOf("text/event-stream; charset=utf-8", c.stream, n)
				if !ok || id != "msg_1" {
					t.Fatalf("%q %v", id, ok)
				}
				if diff := cmp.Diff(plain(t, want), plain(t, got)); diff != "" {
					t.Error(diff)
				}
			}
			// The codec can read the message, and an answer that is not streamed gives the same message.
			whole := `{"type":"message","id":"msg_1","model":"m","content": [` + c.content + ` ],"stop_reason":"end_turn"}`
			if id, got, ok := assembledOf("application/json", whole, 50); !ok || id != "msg_1" || plain(t, got) != plain(t, want) {
				t.Errorf("whole: %s %v\n%s", id, ok, got)
			}
			if _, err := (Messages{}).Decode([]byte(`{"model":"m","messages":[` + want + `]}`)); err != nil {
				t.Error(err)
			}
		})
	}
}

// plain returns JSON with sorted keys.
func plain(t testing.TB, text string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// An answer that is incomplete or unknown gives no message.
func TestAssemblyDoesNotGuess(t *testing.T) {
	text := started(0, `{"type":"text","text":""}`)
	for name, stream := range map[string]string{
		"no end":             events(messageStart, text),
		"no beginning":       events(text, messageEnd),
		"two beginnings":     events(messageStart, messageStart, messageEnd),
		"an error":           events(messageStart, text, `{"type":"error","error":{"type":"overloaded_error"}}`, messageEnd),
		"an unknown delta":   events(messageStart, text, delta(0, `{"type":"hologram_delta","x":1}`), messageEnd),
		"a delta of nothing": events(messageStart, delta(0, `{"type":"text_delta","text":"a"}`), messageEnd),
		"a block left out":   events(messageStart, started(1, `{"type":"text","text":""}`), messageEnd),
		"half a character":   events(messageStart, text, delta(0, `{"type":"text_delta","text":"a \ud83d"}`), messageEnd),
		"no JSON":            events(messageStart, `{"type":`, messageEnd),
		"half an input":      events(messageStart, started(0, `{"type":"tool_use","input":{}}`), delta(0, `{"type":"input_json_delta","partial_json":"{\"a\":"}`), messageEnd),
		"no id":              events(`{"type":"message_start","message":{"content":[]}}`, messageEnd),
		"content at once":    events(`{"type":"message_start","message":{"id":"m","content":[{"type":"text","text":"a"}]}}`, messageEnd),
		"a large event":      events(messageStart, `{"type":"ping","x":"`+strings.Repeat("x", 33<<20)+`"}`, messageEnd),
	} {
		if id, got, ok := assembledOf("text/event-stream", stream, 1<<16); ok {
			t.Errorf("%s: %s %s", name, id, got)
		}
	}
	for name, whole := range map[string]string{
		"half":       `{"type":"message","id":"m","content":[{}`,
		"an error":   `{"type":"error","error":{}}`,
		"no content": `{"type":"message","id":"m","content":"text"}`,
		"no id":      `{"type":"message","content":[]}`,
		"too large":  `{"type":"message","id":"m","content":[],"x":"` + strings.Repeat("x", 33<<20) + `"}`,
	} {
		if id, got, ok := assembledOf("application/json", whole, 1<<16); ok {
			t.Errorf("%s: %s %s", name, id, got)
		}
	}
}

// For any input, the message is JSON, and the pieces of the input make no difference. The message of an answer that is not
// streamed has the content of that answer.
func FuzzAssembly(f *testing.F) {
	f.Add(events(messageStart, started(0, `{"type":"text","text":""}`), delta(0, `{"type":"text_delta","text":"a"}`), stopped(0), messageEnd), uint8(5), true)
	f.Add(events(messageStart, started(0, `{"type":"thinking","thinking":"","signature":""}`), delta(0, `{"type":"thinking_delta","thinking":"a"}`), delta(0, `{"type":"signature_delta","signature":"s"}`), stopped(0),
		started(1, `{"type":"tool_use","id":"t","name":"n","input":{}}`), delta(1, `{"type":"input_json_delta","partial_json":"{\"a\" : \"\\u00e9\"}"}`), stopped(1), messageEnd), uint8(3), true)
	f.Add(`{"type":"message","id":"m","content":[{"type":"tool_use","input":{"a": "\/"}},{"x":[1 , 2]}]}`, uint8(9), false)
	f.Add(events(messageStart, started(0, `{"type":"text","text":"","citations":null}`), delta(0, `{"type":"citations_delta","citation":{"a":1}}`), messageEnd), uint8(1), true)
	f.Fuzz(func(t *testing.T, answer string, n uint8, streamed bool) {
		contentType := "application/json"
		if streamed {
			contentType = "text/event-stream"
		}
		id, got, ok := assembledOf(contentType, answer, int(n)+1)
		if id2, got2, ok2 := assembledOf(contentType, answer, 1<<20); streamed && (id != id2 || got != got2 || ok != ok2) {
			t.Fatalf("in pieces %q %s %v\nat once %q %s %v", id, got, ok, id2, got2, ok2)
		}
		if !ok {
			return
		}
		var message struct {
			Role    string
			Content []json.RawMessage
		}
		if err := json.Unmarshal([]byte(got), &message); err != nil || message.Role != "assistant" || id == "" {
			t.Fatalf("%q %s: %v", id, got, err)
		}
		if !streamed {
			var whole struct{ Content json.RawMessage }
			if json.Unmarshal([]byte(answer), &whole) == nil && json.Valid(whole.Content) {
				was, is := value(whole.Content), value([]byte(got[len(`{"role":"assistant","content":`):len(got)-1]))
				if !bytes.Equal(was, is) {
					t.Fatalf("%s\n%s", was, is)
				}
			}
		}
	})
}

// value returns JSON as Go decodes and encodes it.
func value(text []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	_ = d.Decode(&v)
	out, _ := json.Marshal(v)
	return out
}

package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/stet-dev/stet/files/approval"
	words "github.com/stet-dev/stet/tool"
)

// samples returns one frame of each type with all its fields.
func samples() []Frame {
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	tool := Tool{Name: "write_file", Description: "Writes.", Schema: json.RawMessage(`{"type":"object"}`), ReadOnly: true, Destructive: true}
	return []Frame{
		&Hello{
			Version: 1, Role: Host, Client: "c", Capabilities: []string{CanResume}, Workspace: "w", Session: "s", Tools: []Tool{tool},
			Resume: "r", Received: 7, Resumed: true, Limits: &Limits{1, 2, 3, 4, 5}, BeatSeconds: 20,
		},
		&ToolCall{
			CallID: "c-1", ToolName: "write_file", Arguments: json.RawMessage(`{"path":"a","content":"ü\n"}`), RequiresConfirmation: true,
			TimeoutSeconds: 30, ApprovalTimeoutSeconds: 600, Session: "s", Client: "agent \"1\"", PartsFollow: true, TakesParts: true, Absolute: true,
		},
		&ToolResult{CallID: "c-1", Result: json.RawMessage(`{"success":false}`), Error: "user_rejected"},
		&Cancel{CallID: "c-1", Reason: "caller"},
		&Progress{CallID: "c-1", State: Waiting, Message: "m"},
		&Part{CallID: "c-1", Seq: 3, Data: []byte("abc"), Last: true},
		&Taken{CallID: "c-1", Seq: 3},
		&Approval{
			ID: "q", CallID: "c-1", Withdrawn: true, Error: "e", Code: "timeout",
			Question: &approval.Question{
				ID: "q", Asked: at, Expires: at, Session: "s", Client: "c", CallID: "c-1", Tool: "t", Path: "p", Write: true, Before: "b",
				After: "a", Size: 1, Diff: words.ParseDiff("d"), Files: []approval.File{{Path: "p", Before: "b", After: "a", Size: 1, Action: "change"}}, Notes: []words.Note{"large"}, Content: []byte("x"), Editable: true,
				Why: "default", Grantable: true, Relay: true, Again: 2, Seal: "s", Action: "change", Warnings: []string{"w"}, Added: 1, Removed: 2,
			},
			Answer: &approval.Answer{Verdict: "edit", Seal: "s", Pattern: "p", Content: []byte("y"), Keep: []int{1}, Words: "w", By: "b", Relayed: true},
		},
		&Event{Event: HostUp, Workspace: "w", Session: "s", Tools: []Tool{tool}, Message: "m"},
		&Error{Code: Malformed, Message: "m", CallID: "c"},
		&Ack{Received: 12},
	}
}

// Every frame is decoded as it was encoded. The samples have all fields.
func TestEveryFrame(t *testing.T) {
	all := samples()
	if len(all) != len(shapes) {
		t.Fatalf("%d samples of %d types", len(all), len(shapes))
	}
	for i, f := range all {
		if f.frame() != shapes[i] {
			t.Errorf("sample %d is %s, not %s", i, TypeOf(f), shapes[i].name)
		}
		v := reflect.ValueOf(f).Elem()
		for j := range v.NumField() {
			if name := v.Type().Field(j).Name; v.Field(j).IsZero() && name != "NeedsConfirmation" {
				t.Errorf("%s.%s is not in the sample", TypeOf(f), name)
			}
		}
		b := encode(t, f)
		back, err := Decode(b)
		if err != nil {
			t.Errorf("%s: %v", b, err)
			continue
		}
		if d := cmp.Diff(f, back); d != "" {
			t.Error(d)
		}
	}
}

// encode returns a frame in one piece.
func encode(t interface{ Fatal(...any) }, f Frame) []byte {
	e, err := Encode(f)
	if err != nil || e.Size() != len(e.Bytes()) {
		t.Fatal(TypeOf(f), e.Size(), err)
	}
	return e.Bytes()
}

// A payload is not copied when its frame is encoded or decoded. Text around it may look like its key.
func TestPayloadIsNotCopied(t *testing.T) {
	object := json.RawMessage(`{"content":"` + strings.Repeat("x", 5000) + `"}`)
	for _, f := range []Frame{
		&ToolCall{CallID: `","arguments":null,"`, ToolName: `t":null`, Arguments: object, Session: "s", TakesParts: true},
		&ToolResult{CallID: `","result":null,"`, Result: object, Error: "timeout"},
	} {
		e, err := Encode(f)
		if err != nil || &e.Body[0] != &object[0] {
			t.Errorf("%s%s: %v", e.Head, e.Tail, err)
		}
		b := encode(t, f)
		back, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(f, back); d != "" {
			t.Error(d)
		}
		payload := func(f Frame) json.RawMessage {
			if c, ok := f.(*ToolCall); ok {
				return c.Arguments
			}
			return f.(*ToolResult).Result
		}(back)
		if at := bytes.Index(b, object); &payload[0] != &b[at] {
			t.Error("the payload was copied")
		}
	}
}

// Frames as in the specification are read with their flags, and also without flags or with null. (FILE-3)
func TestSourceFrames(t *testing.T) {
	for _, c := range []struct {
		body string
		want Frame
	}{
		{`{"type":"tool_call","call_id":"1","tool_name":"read_file","arguments":{"path":"a"},"requires_confirmation":false}`, &ToolCall{CallID: "1", ToolName: "read_file", Arguments: json.RawMessage(`{"path":"a"}`)}},
		{`{"type":"tool_call","call_id":"1","tool_name":"read_file","arguments":{}}`, &ToolCall{CallID: "1", ToolName: "read_file", Arguments: json.RawMessage(`{}`)}},
		{` { "arguments" : { } , "tool_name" : "read_file" , "call_id" : "\u0031" , "type" : "tool_call" } `, &ToolCall{CallID: "1", ToolName: "read_file", Arguments: json.RawMessage(`{ }`)}},
		{`{"type":"tool_result","call_id":"1","result":{"success":true},"error":null,"needs_confirmation":false}`, &ToolResult{CallID: "1", Result: json.RawMessage(`{"success":true}`)}},
		{`{"type":"tool_result","call_id":"1","result":null,"error":"user_rejected","needs_confirmation":null}`, &ToolResult{CallID: "1", Error: "user_rejected"}},
		{`{"type":"tool_result","call_id":"1","needs_confirmation":true}`, &ToolResult{CallID: "1", NeedsConfirmation: true}},
	} {
		f, err := Decode([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		if d := cmp.Diff(c.want, f); d != "" {
			t.Errorf("%s: %s", c.body, d)
		}
	}
	got := string(encode(t, &ToolCall{CallID: "1", ToolName: "read_file", Arguments: json.RawMessage(`{"path":"a"}`)}))
	got += string(encode(t, &Part{CallID: "1", Last: true}))
	want := `{"type":"tool_call","call_id":"1","tool_name":"read_file","arguments":{"path":"a"},"requires_confirmation":false}` +
		`{"type":"part","call_id":"1","seq":0,"data":"","last":true}`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A malformed frame is refused with a sentence that says what is wrong, and names the call if possible. (FILE-3)
func TestMalformed(t *testing.T) {
	for _, c := range []struct{ body, message, call string }{
		{``, "unexpected end", ""},
		{`[]`, "another kind", ""},
		{`{}`, "type is missing", ""},
		{`{"type":7}`, "type must be a string", ""},
		{`{"type":"tool_cal","call_id":"7"}`, `unknown type "tool_cal"`, "7"},
		{`{"type":"cancel","call_id":"1"} x`, "data after the JSON value", "1"},
		{`{"type":"cancel","call_id":"1","call_id":"2"}`, `"call_id" is given twice`, "1"},
		{`{"type":"cancel"}`, "cancel: call_id is missing", ""},
		{`{"type":"cancel","call_id":""}`, "cancel: call_id is empty", ""},
		{`{"type":"cancel","call_id":"` + strings.Repeat("x", 257) + `"}`, "call_id has 257 bytes, at most 256", ""},
		{`{"type":"cancel","call_id":"1","why":"x"}`, `cancel: there is no "why"`, "1"},
		{`{"type":"cancel","call_id":1}`, "cancel: call_id must be a string, not number", ""},
		{`{"type":"cancel","Call_ID":"1"}`, `cancel: there is no "Call_ID"`, ""},
		{`{"type":"tool_call","call_id":"1","tool_name":"x"}`, "tool_call: arguments is missing", "1"},
		{`{"type":"tool_call","call_id":"1","tool_name":"x","arguments":[]}`, "tool_call: arguments must be an object", "1"},
		{`{"type":"tool_call","call_id":"1","tool_name":"x","arguments":"{}"}`, "tool_call: arguments must be an object", "1"},
		{`{"type":"tool_call","call_id":"1","tool_name":"","arguments":{}}`, "tool_call: tool_name is empty", "1"},
		{`{"type":"tool_call","call_id":"1","tool_name":"x","arguments":{},"timeout_seconds":-1}`, "timeout_seconds must be a whole number, 0 or more", "1"},
		{`{"type":"tool_call","call_id":"1","tool_name":"x","arguments":{},"timeout_seconds":1.5}`, "timeout_seconds must be a whole number", "1"},
		{`{"type":"tool_call","call_id":"1","tool_name":"x","arguments":{},"requires_confirmation":1}`, "requires_confirmation must be true or false", "1"},
		{`{"type":"tool_result","call_id":"1"}`, "neither result nor error", "1"},
		{`{"type":"progress","call_id":"1","state":"idle"}`, `state must be "working" or "waiting"`, "1"},
		{`{"type":"part","call_id":"1","seq":-1,"data":"","last":true}`, "part: seq must be a whole number", "1"},
		{`{"type":"part","call_id":"1","seq":0,"data":"?","last":true}`, "part: data", "1"},
		{`{"type":"part","call_id":"1","seq":0,"data":5}`, "part: data must be a base64 string", "1"},
		{`{"type":"part","call_id":"1","seq":0,"data":"YQ==\n"}`, "part: data", "1"},
		{`{"type":"part","call_id":"1","seq":0,"data":"` + strings.Repeat("AAAA", PartBytes/3+1) + `"}`, "part: data has more than 131072 bytes", "1"},
		{`{"type":"part","call_id":"1","seq":0,"data":""}`, "part: data is empty", "1"},
		{`{"type":"taken","call_id":"1","seq":-1}`, "seq must be a whole number", "1"},
		{`{"type":"approval","id":"1","answer":{"verdict":"approve","seel":"x"}}`, `approval: answer: unknown field "seel"`, ""},
		{`{"type":"hello"}`, "hello: version is missing", ""},
		{`{"type":"ack","received":-1}`, "ack: received must be a whole number", ""},
		{"{\"type\":\"cancel\",\"call_id\":\"\xff\"}", "not UTF-8", ""},
		{"{" + strings.Repeat(`"a":1,`, 2) + `"type":"ack"}`, "given twice", ""},
	} {
		f, err := Decode([]byte(c.body))
		e, ok := err.(*Error)
		if !ok || f != nil {
			t.Errorf("%s: %v %v", c.body, f, err)
			continue
		}
		if e.Code != Malformed || !strings.Contains(e.Message, c.message) || e.CallID != c.call {
			t.Errorf("%s: %+v", c.body, e)
		}
		encode(t, e)
	}
	var many strings.Builder
	for i := range 100_000 {
		many.WriteString(`"k` + strings.Repeat("x", i%7) + `":1,`)
	}
	if _, err := Decode([]byte("{" + many.String() + `"type":"ack"}`)); err == nil {
		t.Error("100,000 keys are a frame")
	}
}

// The arguments of a call are forwarded unchanged.
func TestCallsComeThrough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		args, err := json.Marshal(rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "arguments"))
		if err != nil {
			t.Fatal(err)
		}
		word := rapid.StringN(1, 30, 100)
		f := &ToolCall{
			CallID: word.Draw(t, "id"), ToolName: word.Draw(t, "tool"), Arguments: args, RequiresConfirmation: rapid.Bool().Draw(t, "flag"),
			TimeoutSeconds: rapid.IntRange(0, 1e6).Draw(t, "timeout"), Session: rapid.String().Draw(t, "session"), Client: rapid.String().Draw(t, "client"),
		}
		r := &ToolResult{CallID: f.CallID, Result: args, Error: rapid.String().Draw(t, "error"), NeedsConfirmation: f.RequiresConfirmation}
		for _, f := range []Frame{f, r} {
			b := encode(t, f)
			if !json.Valid(b) {
				t.Fatalf("not JSON: %s", b)
			}
			back, err := Decode(b)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(f, back); d != "" {
				t.Fatal(d)
			}
		}
	})
}

// put puts content into an object, in parts of size bytes.
func put(rest json.RawMessage, content string, size int) (json.RawMessage, bool) {
	var c Content
	for part := range slices.Chunk([]byte(content), size) {
		c.Add(part)
	}
	return c.Into(rest)
}

// Content that was cut out and put back is unchanged. (FILE-9)
func TestContentCutAndPut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOf(rapid.StringMatching(`[a-zü_]{1,8}`), rapid.String()).Draw(t, "object")
		object["content"] = rapid.String().Draw(t, "content")
		body, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		rest, content, ok := CutContent(body)
		if !ok || content != object["content"] {
			t.Fatalf("%q of %s", content, body)
		}
		whole, ok := put(rest, content, rapid.IntRange(1, 9).Draw(t, "size"))
		var back map[string]string
		if err := json.Unmarshal(whole, &back); err != nil || !ok || !cmp.Equal(object, back) {
			t.Fatalf("%s became %s and %s: %v", body, rest, whole, err)
		}
		if _, ok := put(whole, "", 1); ok {
			t.Fatal("a second content is put in")
		}
	})
	for _, odd := range []string{`{}`, `[]`, `{"content":5}`, `{"content":"a","content":"b"}`, `{"content":"\ud800"}`, `{"content":"a"`} {
		if rest, _, ok := CutContent(json.RawMessage(odd)); ok {
			t.Errorf("%s is cut to %s", odd, rest)
		}
	}
	if _, ok := put(json.RawMessage(`{}`), "\xff", 1); ok {
		t.Error("bytes that are no text are put in")
	}
}

// FuzzDecode: Decode never panics, returns an *Error that can be sent, and an accepted frame is encoded and decoded to the same
// frame.
func FuzzDecode(f *testing.F) {
	for _, s := range samples() {
		f.Add(encode(f, s))
	}
	f.Add([]byte(`{"type":"tool_result","call_id":"1","result":{"a":"\ud800"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		frame, err := Decode(body)
		if err != nil {
			if _, ok := err.(*Error); !ok || frame != nil {
				t.Fatalf("%v %v", frame, err)
			}
			return
		}
		b := encode(t, frame)
		again, err := Decode(b)
		if err != nil {
			t.Fatalf("%s became %s: %v", body, b, err)
		}
		if d := cmp.Diff(frame, again, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%s became %s: %s", body, b, d)
		}
	})
}

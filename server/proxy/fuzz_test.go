package proxy

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/trim"
)

// Any body goes on as it is, or as valid JSON that passed the proof. stet's own code does not fail on it.
func FuzzBody(f *testing.F) {
	f.Add(uint8(0), []byte(twoReads))
	f.Add(uint8(1), []byte(`{"model":"m","messages":[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[`+
		`{"id":"c1","type":"function","function":{"name":"Read","arguments":"{\"file_path\":\"a.go\"}"}}]},`+
		`{"role":"tool","tool_call_id":"c1","content":"     1\tpackage a"}]}`))
	f.Add(uint8(2), []byte(`{"model":"m","input":[{"role":"user","content":"go"},{"type":"function_call","call_id":"c1","name":"Read",`+
		`"arguments":"{\"file_path\":\"a.go\"}"},{"type":"function_call_output","call_id":"c1","output":"     1\tpackage a"}]}`))
	f.Add(uint8(3), []byte(`{"messages":[{"role":"user","content":[{"type":"tool_result"`))
	var proxies []*Proxy
	for _, policy := range []trim.Policy{trim.KeepLatest, trim.Lossless, trim.Adaptive} {
		p, err := New(Config{History: trim.Config{Policy: policy, KeepReads: -1}})
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { _ = p.Close(f.Context()) })
		proxies = append(proxies, p)
	}
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		for _, p := range proxies {
			all := []endpoint{p.endpoints.messages, p.endpoints.chat, p.endpoints.responses, p.endpoints.count}
			head := bytes.Clone(body)
			x := &exchange{
				endpoint: all[int(which)%len(all)], body: upload{head: head, whole: true, borrowed: []*lease{lend(head)}},
				row: record.Request{Conversation: "unknown"},
			}
			was := bytes.Clone(body)
			p.prepare(x, http.Header{}, planned)
			if p.reports(x); x.background != nil {
				<-x.background
			}
			p.conversations.leave(x.conversation, &x.row, nil)
			defer x.body.release(&p.buffers)
			if x.row.Passed == string(panicked) || x.row.Passed == string(misfit) {
				t.Fatalf("passed: %s", x.row.Passed)
			}
			if !bytes.Equal(head, was) {
				t.Fatal("the client's body was written to")
			}
			sent := x.body.text()
			if !bytes.Equal(sent, was) && (len(x.omissions) == 0 && x.api != record.CountTokens || json.Valid(was) && !json.Valid(sent)) {
				t.Fatalf("sent %q for %q", sent, was)
			}
		}
	})
}

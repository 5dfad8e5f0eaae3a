package proxy

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/llm/llmtest"
)

// A result that was left out at a cold point stays left out in every process with the same store, also if the conversation moves to
// another process at once (WIRE-2).
func TestMovesUnchecked(t *testing.T) {
	strictly(t, func(s *strict) {
		s.model.Close()
		lax, err := llmtest.Start(llmtest.Config{Listener: new(llmtest.Memory), Handler: s.answer})
		if err != nil {
			t.Fatal(err)
		}
		defer lax.Close()
		s.model = lax
		a, nodes := s.session("claude-sonnet-4-5"), []*Proxy{s.proxy(), s.proxy(), s.proxy()}
		s.rush = true
		for i := range 14 {
			a.rounds(1, nodes[i%3])
			synctest.Wait()
			time.Sleep(300 * time.Millisecond)
		}
		time.Sleep(310 * time.Second)
		var sent [][]json.RawMessage
		for i := range 9 {
			a.rounds(1, nodes[i%3])
			var body struct{ Messages []json.RawMessage }
			if err := json.Unmarshal([]byte(s.sent()), &body); err != nil {
				t.Fatal(err)
			}
			sent = append(sent, body.Messages)
		}
		if _, evicted := s.shortened(); evicted < 3 {
			t.Errorf("%d evicted", evicted)
		}
		for i := 1; i < len(sent); i++ {
			for m := range sent[i-1][:len(sent[i-1])-1] { // the last message has a cache marker
				if !bytes.Equal(sent[i][m], sent[i-1][m]) {
					t.Errorf("request %d has another message %d", i, m)
					break
				}
			}
		}
	})
}

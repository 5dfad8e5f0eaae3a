package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/test/strictmodel"
)

// A result that was left out at a cold point stays left out in every process with the same store, also if the conversation moves to
// another process at once, or later, when others have sent more requests than a store returns of a thread (WIRE-2). The
// others are in one thread or several, which have turns at the same messages.
func TestMovesUnchecked(t *testing.T) {
	for name, threads := range map[string]int{"at once": 0, "later, one thread": 1, "later, several threads": 50} {
		t.Run(name, func(t *testing.T) { testMovesUnchecked(t, threads) })
	}
}

// crowd stores turns of others in some threads. They are newer than those in the store. Each thread has also a turn at the messages of the
// newest one there.
func (s *lastTurns) crowd(t *testing.T, threads, round int) {
	t.Helper()
	if threads == 0 {
		return
	}
	var b record.Batch
	at := time.Now()
	for k := range 2 * record.ThreadTurns {
		b.Turns = append(b.Turns, record.Turn{
			Prefix: uint64(1_000_000*round + k), Model: "m", Time: at.Add(time.Second), Thread: uint64(1 + k%threads), Conversation: fmt.Sprint("c", k),
		})
	}
	for thread := range threads {
		turn := s.last
		turn.Model, turn.Thread, turn.Conversation = fmt.Sprint("m", thread), uint64(1+thread), "c"
		b.Turns = append(b.Turns, turn)
	}
	if err := s.Memory.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Second)
}

// lastTurns is a store that knows the turn that was stored last.
type lastTurns struct {
	*recordtest.Memory
	mu   sync.Mutex
	last record.Turn
}

func (s *lastTurns) Append(ctx context.Context, b record.Batch) error {
	if n := len(b.Turns); n > 0 {
		s.mu.Lock()
		s.last = b.Turns[n-1]
		s.mu.Unlock()
	}
	return s.Memory.Append(ctx, b)
}

func testMovesUnchecked(t *testing.T, threads int) {
	strictly(t, func(s *strict) {
		store := &lastTurns{Memory: s.store}
		node := func() *Proxy {
			p := s.proxy()
			p.writer.store = store
			return p
		}
		s.model.Close()
		lax, err := strictmodel.Start(llmtest.Config{Listener: new(llmtest.Memory), Handler: s.answer})
		if err != nil {
			t.Fatal(err)
		}
		defer lax.Close()
		s.model = lax
		a, nodes := s.session("claude-sonnet-4-5"), []*Proxy{node(), node(), node()}
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
			synctest.Wait()
			store.crowd(t, threads, i+1)
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

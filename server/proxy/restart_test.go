package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
)

// upstream answers every request with the same usage, and keeps the last body.
type upstream struct {
	body  []byte
	usage string
}

func (u *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	var err error
	if u.body, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	answer := `{"type":"message","role":"assistant","model":"m","content":[],"stop_reason":"end_turn","usage":` + u.usage + `}`
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer)), Request: r,
	}, nil
}

// What the proxy decided stays after a restart. What a cold point changed stays changed if the conversation goes on through
// another proxy with the same store. If the store is lost, the bytes are those of a conversation without cold points.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, up := new(recordtest.Memory), &upstream{usage: `{"input_tokens":10,"cache_read_input_tokens":0,"cache_creation_input_tokens":9000,"output_tokens":5}`}
		start := func(store record.Store) *Proxy {
			p, err := New(Config{Store: store, Transport: up})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		end := func(p *Proxy) {
			if err := p.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		ask := func(p *Proxy, rounds int) []byte {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/messages", bytes.NewReader(talk{rounds: rounds}.body()))
			w := httptest.NewRecorder()
			p.ServeHTTP(w, r)
			if w.Code != 200 {
				t.Fatal(w.Code, w.Body)
			}
			synctest.Wait() // until the answer is settled
			return bytes.Clone(up.body)
		}
		p := start(store)
		ask(p, 20)
		time.Sleep(10 * time.Minute)
		cold := ask(p, 21)
		if beginsLike(cold, talk{rounds: 20}.body()) {
			t.Fatal("nothing is left out at a cold point")
		}
		time.Sleep(time.Minute)
		warm := ask(p, 22)
		end(p)

		p = start(store)
		if again := ask(p, 22); !bytes.Equal(again, warm) {
			t.Error("another proxy sends something else")
		}
		time.Sleep(4 * time.Minute)
		if later := ask(p, 23); !beginsLike(later, cold) {
			t.Error("what was sent before is sent in another way")
		}
		if again := ask(p, 21); !beginsLike(again, cold) || !beginsLike(cold, again) {
			t.Error("going back sends it in another way")
		}
		end(p)

		p = start(nil)
		lost := ask(p, 22)
		end(p)
		p = start(nil) // a process that has seen no pause
		for rounds := range 22 {
			ask(p, rounds)
		}
		if without := ask(p, 22); !bytes.Equal(lost, without) || bytes.Equal(lost, warm) {
			t.Error("without a memory something else is left out")
		}
		end(p)

		rows, err := store.Requests(t.Context(), record.Query{})
		var coldPoints, gaps []string
		for _, r := range rows {
			coldPoints, gaps = append(coldPoints, r.Cache.Moment), append(gaps, r.Cache.Gap.String())
		}
		for _, r := range rows[:len(rows)-1] { // the last one is a fork
			if r.Conversation != rows[0].Conversation || r.Cache.Broke != "" && r.Cache.Moment == "" {
				t.Errorf("%s: %+v, the first is of %s", r.Conversation, r.Cache, rows[0].Conversation)
			}
		}
		want := "[ gap    ] [0s 10m0s 1m0s 0s 4m0s 0s]"
		if got := fmt.Sprint(coldPoints, " ", gaps); err != nil || !sameWords(got, want) || len(rows) != 6 {
			t.Errorf("%s, want %s, %v", got, want, err)
		}
	})
}

func sameWords(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}

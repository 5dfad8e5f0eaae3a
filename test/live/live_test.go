package live

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/transcript"
)

var (
	all = flag.Bool("all", false, "play all recorded sessions, not some")
)

// recorded reads some of the recorded sessions, or skips the test.
func recorded(t *testing.T) []*transcript.Session {
	root := os.Getenv("STET_TRANSCRIPTS")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "transcripts")
	}
	data, err := os.ReadFile(filepath.Join(root, "index.json"))
	if err != nil {
		t.Skip("no recorded sessions at " + root)
	}
	var index []struct{ File string }
	if err := json.Unmarshal(data, &index); err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, e := range index {
		files = append(files, filepath.Join(root, e.File))
	}
	slices.Sort(files)
	files = slices.Compact(files) // a file with several sessions is listed several times
	var some []string
	for i, f := range files {
		if *all || i%step == 0 {
			some = append(some, f)
		}
	}
	var out []*transcript.Session
	if err := (transcript.Opener{}).Walk(some, func(_ string, sessions []*transcript.Session, _ error) error {
		out = append(out, sessions...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// asked is a request of a session.
type asked struct {
	messages []llm.Message
	model    string
	at       time.Duration // time since the start of the session
	thinks   time.Duration
}

// requests returns the requests of a session; see transcript.Session.
func requests(s *transcript.Session) []asked {
	var out []asked
	var begun, clock time.Time
	names := make(map[string]string)
	model, start := models[0], 0
	for i := range s.Messages {
		m := &s.Messages[i]
		if slices.Contains(s.Starts, i) {
			start = i
		}
		held := slices.ContainsFunc(s.Messages[start:i], func(m llm.Message) bool { return !m.Local })
		if m.Role == llm.Assistant && !m.Local && held && !slices.Contains(s.Carried, i) {
			if m.Model != "" {
				if names[m.Model] == "" {
					names[m.Model] = models[len(names)%len(models)]
				}
				model = names[m.Model]
			}
			a := asked{messages: s.Messages[start:i], model: model}
			if !clock.IsZero() {
				a.at, a.thinks = clock.Sub(begun), max(0, m.Time.Sub(clock))
			}
			out = append(out, a)
		}
		if m.Time.After(clock) {
			clock = m.Time
		}
		if begun.IsZero() {
			begun = clock
		}
	}
	return out
}

// play sends requests at their times. up thinks as long as in the recording.
func play(t *testing.T, asked []asked, up *upstream, send func(body []byte)) {
	t.Helper()
	begun := time.Now()
	for _, a := range asked {
		time.Sleep(a.at - time.Since(begun))
		up.thinks = a.thinks
		send(body(t, a.model, up.fixed, a.messages))
	}
}

// through plays a session through a proxy of its own.
func through(t *testing.T, s *transcript.Session, policy trim.Policy, asked []asked) *upstream {
	t.Helper()
	up := newUpstream(s)
	by(t, up, proxy.Config{History: trim.Config{Policy: policy, Root: s.Dir}}, asked)
	return up
}

// by sends requests through a proxy to up.
func by(t *testing.T, up *upstream, c proxy.Config, asked []asked) {
	t.Helper()
	c.Transport = up
	p, err := proxy.New(c)
	if err != nil {
		t.Fatal(err)
	}
	play(t, asked, up, func(body []byte) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/messages", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if p.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Errorf("status %d: %.200s", w.Code, w.Body)
		}
		synctest.Wait() // until the answer is settled
	})
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// sums are the figures of one policy.
type sums struct{ off, live, replayedOff, replayed float64 }

// TRIM-17: no recorded session is dearer than without stet. It is played through the proxy at its own times, and a simulated
// cache makes the bill. Under bold, warm breaks may cost 2 %. The test logs the figures of the replay too.
func TestLiveNeverDearer(t *testing.T) {
	policies := []trim.Policy{trim.Lossless, trim.Adaptive, trim.Bold}
	total := make([]sums, len(policies))
	played, sent := 0, 0
	for _, s := range recorded(t) {
		asked := requests(s)
		if len(asked) == 0 {
			continue
		}
		played, sent = played+1, sent+len(asked)
		plain := newUpstream(s)
		synctest.Test(t, func(t *testing.T) {
			play(t, asked, plain, func(body []byte) {
				if _, err := plain.bill(body); err != nil {
					t.Error(err)
				}
			})
		})
		for i, policy := range policies {
			var with *upstream
			synctest.Test(t, func(t *testing.T) { with = through(t, s, policy, asked) })
			off, r, err := replay.Session(context.Background(), s, replay.Config{History: trim.Config{Policy: policy}})
			if err != nil {
				t.Fatal(err)
			}
			one := sums{plain.cost, with.cost, off.Cost[prices.Anthropic5m], r.Cost[prices.Anthropic5m]}
			total[i].add(one)
			t.Logf("%s: %s: %d requests: %s", policy, filepath.Base(s.File), len(asked), one)
			limit := 1 + 1e-9
			if policy == trim.Bold {
				limit = 1.02
			}
			if one.live > one.off*limit {
				t.Errorf("%s: %s costs %.0f instead of %.0f", policy, s.File, one.live, one.off)
			}
		}
	}
	for i, policy := range policies {
		t.Logf("%s: %d sessions, %d requests: %s", policy, played, sent, total[i])
	}
}

func (s *sums) add(o sums) {
	s.off, s.live = s.off+o.off, s.live+o.live
	s.replayedOff, s.replayed = s.replayedOff+o.replayedOff, s.replayed+o.replayed
}

// String says what was saved, live and in the replay.
func (s sums) String() string {
	return fmt.Sprintf("live %+.2f %%, replayed %+.2f %%", 100*(s.live/s.off-1), 100*(s.replayed/s.replayedOff-1))
}

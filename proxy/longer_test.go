package proxy

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// longer is a trial in which the hour may be asked for, and much is left out.
func longer(t *testing.T, change ...func(*Config)) *trial {
	k := newTrial(t, 5*time.Minute, append(change, func(c *Config) { c.LongerCache = true })...)
	k.marked, k.said = true, []llm.Message{words(llm.User, "go")}
	return k
}

// asked says of every request whether it asked for the hour.
func (k *trial) asked() (out string) {
	for _, row := range k.rows {
		if row.Cache.Longer {
			out += "h"
		} else {
			out += "."
		}
	}
	return out
}

// The hour is asked for at a pause, the second or later, once leaving out has saved what
// it costs; and after one that it does not bridge only where it has won as much.
func TestLonger(t *testing.T) {
	k := longer(t)
	for _, pause := range []time.Duration{0, 20, 20, 20, 20, 20, 90, 20, 90, 90, 20} {
		k.at = k.at.Add(pause * time.Minute)
		k.steps(8, 60)
	}
	want := "........" + "........" + "........" + "........" + "hhhhhhhh" + "hhhhhhhh" + "........" + "hhhhhhhh" + "........" + "........" + "hhhhhhhh"
	if got := k.asked(); got != want {
		t.Errorf("asked for at\n%s, want\n%s", got, want)
	}
	k.verdict(0.6)
	for i, row := range k.rows {
		bridged := i == 40
		if c := row.Cache; c.Longer && !bridged && float64(c.Hour) != math.Trunc(-0.75*float64(row.Usage.CacheWrite)) || !c.Longer && c.Hour != 0 || bridged && (c.Hour < 8000 || c.Hour > 9000) {
			t.Errorf("request %d: the hour has brought %d of %+v", i, c.Hour, row.Usage)
		}
	}
}

// Whatever was saved, the first pause is only looked at.
func TestLongerFirstPause(t *testing.T) {
	k := longer(t)
	k.reads(200)
	read := k.said[1:3]
	for i := range 60 {
		k.ask()
		call, result := read[0].Parts[0], read[1].Parts[0]
		call.CallID = fmt.Sprint("again_", i)
		result.CallID = call.CallID
		k.said = append(k.said,
			llm.Message{Role: llm.Assistant, Parts: []llm.Part{call}}, llm.Message{Role: llm.Tool, Parts: []llm.Part{result}})
		k.at = k.at.Add(20 * time.Second)
	}
	for range 2 {
		k.at = k.at.Add(20 * time.Minute)
		k.steps(2, 10)
	}
	k.verdict(0.4)
	if got := k.asked(); !strings.HasSuffix(got, "..hh") || strings.Count(got, "h") != 2 {
		t.Errorf("asked for at %s", got)
	}
}

// Where nothing more is won or saved, it ends before that has been spent.
func TestLongerSpent(t *testing.T) {
	k := longer(t)
	for range 5 {
		k.at = k.at.Add(20 * time.Minute)
		k.steps(8, 60)
	}
	k.steps(30, 600)
	k.verdict(0)
	if got := k.asked(); !strings.Contains(got, "h") || !strings.HasSuffix(got, "...") {
		t.Errorf("asked for at %s", got)
	}
	k.at = k.at.Add(20 * time.Minute) // the beginning is there for an hour all the same
	k.ask()
	if c := k.rows[len(k.rows)-1].Cache; c.Moment != "" || c.Lifetime != time.Hour {
		t.Errorf("%+v", c)
	}
}

// What a request may cost is set aside until it is answered.
func TestLongerHeld(t *testing.T) {
	k := longer(t)
	for range 5 {
		k.steps(8, 60)
		k.at = k.at.Add(20 * time.Minute)
	}
	x := goesOut(t, k.proxy, k.to(), k.body(), k.at)
	p := x.judgement.thread.purse(k.model)
	if toll := x.judgement.toll; !x.row.Cache.Longer || toll <= 0 || p.held != toll {
		t.Errorf("%v held of %v: %+v", p.held, toll, x.row.Cache)
	}
	x.row.Status = 500
	if comesBack(k.proxy, x, k.at); p.held != 0 {
		t.Errorf("%v held", p.held)
	}
}

// It is asked for by all markers, and nothing else changes.
func TestHourly(t *testing.T) {
	p := newProxy(t)
	body := talk{rounds: 20}.body()
	req, err := p.endpoints.messages.codec.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	edits := hourly(body, req)
	sent, err := p.endpoints.messages.codec.Patch(nil, body, req, edits)
	want := bytes.Replace(body, []byte(`{"type":"ephemeral"}`), []byte(`{"type":"ephemeral","ttl":"1h"}`), 1)
	if err != nil || !bytes.Equal(sent, want) {
		t.Errorf("%v\n%.200s", err, sent)
	}
	// A marker that is not understood, or one in a place that is not looked at: all stay.
	for _, odd := range []string{`{"type":"persistent"}`, `{"type":"ephemeral","more":1}`} {
		body := talk{rounds: 21, extra: `,"cache_control":` + odd}.body()
		req, err := p.endpoints.messages.codec.Decode(body)
		if err != nil || hourly(body, req) != nil {
			t.Errorf("changed beside %s, %v", odd, err)
		}
	}
}

// Whatever pauses there are, the hour never makes a session dearer than it is without
// stet; and where nothing is left out, nothing can pay for it.
func TestLongerNeverDearer(t *testing.T) {
	for _, policy := range []history.Policy{history.Off, history.Adaptive} {
		t.Run(string(policy), func(t *testing.T) {
			const sessions = 4
			asked, won := 0, 0.0
			for seed := range uint64(sessions) {
				r := rand.New(rand.NewPCG(seed, 3))
				store := new(record.Memory)
				k := longer(t, func(c *Config) { c.Store = store })
				k.proxy = newProxy(t, func(c *Config) { c.History.Policy, c.LongerCache, c.Store = policy, true, store })
				often, far := 2+r.IntN(8), r.IntN(5)
				for range 40 {
					switch {
					case r.IntN(often) > 0:
					case r.IntN(8) < far:
						k.at = k.at.Add(time.Duration(61+r.IntN(90)) * time.Minute)
					default:
						k.at = k.at.Add(time.Duration(5+r.IntN(55)) * time.Minute)
					}
					if r.IntN(12) == 0 {
						k.forks = true
						k.back(min(len(k.said), 1+2*r.IntN(len(k.said)/2+1)))
					}
					k.steps(1+r.IntN(3), 10+r.IntN(120))
				}
				if k.dearest > 0 || policy == history.Off && k.with.cost != k.past.cost {
					t.Errorf("seed %d: %+.2f %% at worst, %+.2f %% at the end, %s", seed, 100*k.dearest, 100*(k.with.cost/k.past.cost-1), k.asked())
				}
				asked += strings.Count(k.asked(), "h")
				for _, row := range k.rows {
					won += float64(row.Cache.Hour) / k.past.cost
				}
			}
			t.Logf("asked for %d times, %.2f %% won", asked, 100*won/sessions)
			if asked == 0 && policy == history.Adaptive {
				t.Error("it is never asked for")
			}
		})
	}
}

package limits

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// The limits of a token, over all its client sessions. A client chooses the names of its sessions, so a limit of one session does
// not limit a client.
const (
	TokenSessions  = 10 // its calls in any minute, as a multiple of one session's limit
	TokenQuestions = 64 // its questions that wait for a person at once
)

// ManyQuestions is the message for a call whose question would be above the limit.
var ManyQuestions = fmt.Sprintf("%d calls with this token wait for a person already. Wait for their answers.", TokenQuestions)

// TooMany is the message for a call above a rate. The wait is rounded up, so that a call after it is not too early.
func TooMany(wait time.Duration) string {
	return fmt.Sprintf("Too many calls in a minute. Try again in %.1f s.", math.Ceil(wait.Seconds()*10)/10)
}

// Tokens counts the calls and the open questions of each token. What accepts calls in one process shares it, so that a token has
// one count, however its calls come. The zero Tokens is ready to use. It may be used concurrently.
type Tokens struct {
	mu     sync.Mutex
	calls  Keyed
	asking map[string]int // open questions
}

// Ask counts an open question of a token until done is called, unless the token has as many as it may. Token "" is none, and has no
// limit.
func (t *Tokens) Ask(token string) (done func(), ok bool) {
	if token == "" {
		return func() {}, true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asking[token] >= TokenQuestions {
		return nil, false
	}
	if t.asking == nil {
		t.asking = map[string]int{}
	}
	t.asking[token]++
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.asking[token]--; t.asking[token] == 0 {
			delete(t.asking, token)
		}
	}), true
}

// Rates limits the calls of client sessions, and of their tokens. Only calls that were allowed take memory, so a token
// bounds what the names of its sessions take. The zero Rates allows any number of calls. It may be used concurrently.
type Rates struct {
	PerMinute int     // of one session; 0 or less: any number
	Tokens    *Tokens // counts the calls of each token; nil: its own

	mu       sync.Mutex
	sessions Keyed
	own      Tokens
}

// Take counts a call of a session if it returns wait 0: for the session, and for its token; token "" is none. It returns what
// Rate.Take returns.
func (r *Rates) Take(session, token string, now time.Time) (wait time.Duration, before int) {
	if r.PerMinute <= 0 {
		return 0, 0
	}
	tokens := r.Tokens
	if tokens == nil {
		tokens = &r.own
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	tokens.mu.Lock()
	defer tokens.mu.Unlock()
	r.sessions.PerMinute, tokens.calls.PerMinute = r.PerMinute, r.PerMinute*TokenSessions
	limited := []*Rate{r.sessions.of[session]}
	if token != "" {
		limited = append(limited, tokens.calls.rate(token, now, math.MaxInt))
	}
	for _, l := range limited {
		if l == nil {
			continue
		}
		if wait := l.wait(now); wait > 0 {
			return wait, l.refuse()
		}
	}
	limited[0] = r.sessions.rate(session, now, math.MaxInt)
	for _, l := range limited {
		before = max(before, l.count(now))
	}
	return 0, before
}

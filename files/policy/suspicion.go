package policy

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/stet-dev/stet/tool"
)

// Response is what happens to a suspicious session. In every case the audit trail flags it.
type Response uint8

// The responses.
const (
	Flag     Response = iota // only flag it
	Suspend                  // also refuse its later calls
	RollBack                 // also undo its writes
)

var responses = enum{typ: "Response", want: "flag, suspend or roll back", of: []string{Flag: "flag", Suspend: "suspend", RollBack: "roll back"}}

func (r Response) String() string { return responses.name(uint8(r)) }

// MarshalText returns the response's name.
func (r Response) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText takes "flag", "suspend" or "roll back".
func (r *Response) UnmarshalText(text []byte) error { return responses.parse(text, (*uint8)(r)) }

// Suspicion limits a session's refused attempts. The zero value flags the fifth attempt of one kind within a minute.
type Suspicion struct {
	Escapes   int      `toml:"escapes" json:"escapes,omitempty"`     // paths that lead out of the workspace or are invalid; 0: 5, -1: no limit
	Protected int      `toml:"protected" json:"protected,omitempty"` // protected or denied paths; 0: 5, -1: no limit
	Seconds   int      `toml:"seconds" json:"seconds,omitempty"`     // the time in which they are counted; 0: 60
	Do        Response `toml:"do" json:"do"`
}

// Attempts has a session's recent refused attempts. The zero value has none.
type Attempts struct{ escapes, protected []time.Time }

// Count adds a call that failed with code. It returns whether that exceeds a limit, and which one. Then the count restarts.
func (a *Attempts) Count(s Suspicion, code tool.Code, now time.Time) (what string, suspicious bool) {
	const most = int(math.MaxInt64 / time.Second)
	within := time.Duration(min(s.Seconds, most)) * time.Second
	if s.Seconds <= 0 {
		within = time.Minute
	}
	switch code {
	case tool.InvalidPath:
		return "escapes", count(&a.escapes, s.Escapes, within, now)
	case tool.PermissionDenied:
		return "protected paths", count(&a.protected, s.Protected, within, now)
	}
	return "", false
}

func count(times *[]time.Time, limit int, within time.Duration, now time.Time) bool {
	if limit < 0 {
		return false
	}
	limit = cmp.Or(limit, 5)
	*times = append(slices.DeleteFunc(*times, func(t time.Time) bool { return now.Sub(t) >= within }), now)
	if len(*times) < limit {
		return false
	}
	*times = nil
	return true
}

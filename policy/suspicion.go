package policy

import (
	"math"
	"slices"
	"time"

	"github.com/stet-dev/stet/tool"
)

// Response is what happens to a session whose calls look like an attempt to
// get out. In any case it is flagged in the audit trail. (FILE-11)
type Response uint8

// The responses.
const (
	Flag     Response = iota // no more than that
	Suspend                  // its calls are refused from then on
	RollBack                 // also, what it wrote is undone
)

var responses = names{typ: "Response", want: "flag, suspend or roll back", of: []string{Flag: "flag", Suspend: "suspend", RollBack: "roll back"}}

func (r Response) String() string { return responses.name(uint8(r)) }

// MarshalText returns the response's name.
func (r Response) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText takes "flag", "suspend" or "roll back".
func (r *Response) UnmarshalText(text []byte) error { return responses.parse(text, (*uint8)(r)) }

// Suspicion says how many refused attempts of a session are too many. The
// zero value flags the fifth of one kind within a minute.
type Suspicion struct {
	Escapes   int      `toml:"escapes" json:"escapes,omitempty"`     // paths that lead out, or are none; 0: 5, -1: any number is fine
	Protected int      `toml:"protected" json:"protected,omitempty"` // protected or denied paths; 0: 5, -1: any number is fine
	Seconds   int      `toml:"seconds" json:"seconds,omitempty"`     // that they are counted within; 0: 60
	Do        Response `toml:"do" json:"do"`
}

// Attempts are a session's refused attempts of late. The zero value is none.
type Attempts struct{ escapes, protected []time.Time }

// Count adds a call that failed with code, and says whether that was one too
// many, and of what. It then begins anew.
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
	if limit == 0 {
		limit = 5
	}
	*times = append(slices.DeleteFunc(*times, func(t time.Time) bool { return now.Sub(t) >= within }), now)
	if len(*times) < limit {
		return false
	}
	*times = nil
	return true
}

package web

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/record"
)

// Verify is the body of POST /api/audit/verify.
type Verify struct {
	Known string `json:"known,omitempty"` // NUMBER:HASH of an entry that the trail must have
}

// Verdict is the result of checking the chain of the trail.
type Verdict struct {
	Entries int      `json:"entries"` // number of valid entries
	Head    string   `json:"head"`    // NUMBER:HASH of the last valid entry
	Broken  uint64   `json:"broken"`  // the first entry that breaks the chain; 0: none
	Why     string   `json:"why"`
	Open    []uint64 `json:"open"` // intents of writes without an outcome
}

// Suspended is a client session whose calls are refused.
type Suspended struct {
	Session string    `json:"session"`
	Client  string    `json:"client"`
	Root    string    `json:"root"`
	Since   time.Time `json:"since"`
	Flags   []string  `json:"flags"`
	Lift    bool      `json:"lift"` // resuming it is offered
}

// Lift is the body of POST /api/suspended/lift.
type Lift struct {
	Session string `json:"session"`
}

func (h *Handler) audit(r *http.Request) (any, error) {
	last, err := number(r, "last", 500)
	if err != nil {
		return nil, err
	}
	if last <= 0 || last > maxEntries {
		last = maxEntries
	}
	q := record.TrailQuery{Root: r.URL.Query().Get("root"), Session: r.URL.Query().Get("session"), Limit: last, Last: true}
	for _, k := range r.URL.Query()["kind"] {
		q.Kinds = append(q.Kinds, record.Kind(k))
	}
	found, err := h.Trail.Entries(r.Context(), q)
	if err != nil {
		return nil, err
	}
	all := []record.Entry{}
	all = append(all, found...)
	slices.Reverse(all)
	return all, nil
}

func (h *Handler) verify(r *http.Request, in Verify) (any, error) {
	var known []record.Link
	if in.Known = strings.TrimSpace(in.Known); in.Known != "" {
		l, err := record.ParseLink(in.Known)
		if err != nil {
			return nil, invalid("%v", err)
		}
		known = append(known, l)
	}
	v, err := record.Verify(r.Context(), h.Trail, known...)
	if err != nil {
		return nil, err
	}
	out := Verdict{Entries: v.Entries, Open: []uint64{}}
	if v.Entries > 0 {
		out.Head = v.Head.String()
	}
	if v.Broken != nil {
		out.Broken, out.Why = v.Broken.Seq, v.Broken.Why
	}
	for _, e := range v.Open {
		out.Open = append(out.Open, e.Seq)
	}
	return out, nil
}

func (h *Handler) suspended(r *http.Request) (any, error) {
	all := []Suspended{}
	if h.Trail != nil {
		found, err := record.Suspended(r.Context(), h.Trail)
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			all = append(all, Suspended{e.Session, e.Client, e.Root, e.Time, e.Flags, h.Lift != nil})
		}
	}
	return all, nil
}

func (h *Handler) lift(r *http.Request, in Lift) (any, error) {
	if err := h.Lift(r.Context(), in.Session, who(r.Context())); err != nil {
		return nil, problem{http.StatusConflict, err.Error()}
	}
	return nothing{}, nil
}

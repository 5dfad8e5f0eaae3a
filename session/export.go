package session

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"
)

// exported is the first line of an export; an event a line follows.
type exported struct {
	Session string `json:"stet_session"`
}

// line is an event of an export. It has what a store has.
type line struct {
	Seq     uint64          `json:"seq"`
	Time    time.Time       `json:"time"`
	Kind    Kind            `json:"kind"`
	Version int             `json:"version"`
	Body    json.RawMessage `json:"body"`
}

// WriteJSON writes a session's events, a JSON object a line after one that names
// the session. Nothing is lost: ReadJSON reads it.
func WriteJSON(w io.Writer, id string, events []Event) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(exported{id}); err != nil {
		return err
	}
	for _, e := range events {
		body, err := Encode(e.Body)
		if err != nil {
			return err
		}
		if err := enc.Encode(line{e.Seq, e.Time, e.Kind(), e.Version, body}); err != nil {
			return err
		}
	}
	return out.Flush()
}

// plainID is what an ID from elsewhere may be: it is shown as it is.
var plainID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// ErrExport says that what was read is no export of a session.
var ErrExport = errors.New("not an exported session")

// ReadJSON reads what WriteJSON wrote. Events that are damaged, and what follows a
// line that breaks off, are left out and said.
func ReadJSON(r io.Reader) (id string, events []Event, damaged []Damage, err error) {
	in := bufio.NewReader(r)
	first, err := in.ReadBytes('\n')
	var head exported
	if json.Unmarshal(first, &head) != nil || head.Session == "" {
		return "", nil, nil, ErrExport
	}
	if !plainID.MatchString(head.Session) {
		return "", nil, nil, fmt.Errorf("%q is no ID of a session", head.Session)
	}
	last := uint64(0)
	for err == nil {
		var raw []byte
		if raw, err = in.ReadBytes('\n'); len(raw) == 0 {
			continue
		}
		var l line
		bad := json.Unmarshal(raw, &l)
		if bad == nil && l.Seq <= last {
			bad = fmt.Errorf("event %d stands after event %d", l.Seq, last)
		}
		var body Body
		if bad == nil {
			body, bad = Decode(l.Kind, l.Version, l.Body)
		}
		if bad != nil {
			damaged = append(damaged, Damage{last + 1, last + 1, bad.Error()})
			last++
			continue
		}
		last = l.Seq
		events = append(events, Event{l.Seq, l.Time.UTC(), l.Version, body})
	}
	if !errors.Is(err, io.EOF) {
		return "", nil, nil, err
	}
	return head.Session, events, damaged, nil
}

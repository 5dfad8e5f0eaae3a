package session

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/stet-dev/stet/internal/invisible"
)

// exported is the first line of an export. Each later line is an event.
type exported struct {
	Session string `json:"stet_session"`
}

// line is an event of an export, with the same fields as in a store.
type line struct {
	Seq     uint64          `json:"seq"`
	Time    time.Time       `json:"time"`
	Kind    Kind            `json:"kind"`
	Version int             `json:"version"`
	Body    json.RawMessage `json:"body"`
}

// WriteJSON writes a session as lines of JSON: first its name, then its events. Nothing is lost. ReadJSON reads the result.
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

// plainID matches an ID from outside that can be shown unchanged.
var plainID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// ErrExport means that the input is not an export of a session.
var ErrExport = errors.New("not an exported session")

// ReadJSON reads the output of WriteJSON. It skips damaged events and everything after an incomplete line, and reports them as damaged.
func ReadJSON(r io.Reader) (id string, events []Event, damaged []Damage, err error) {
	in := bufio.NewReader(r)
	first, err := in.ReadBytes('\n')
	var head exported
	if json.Unmarshal(invisible.SkipMark(first), &head) != nil || head.Session == "" {
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

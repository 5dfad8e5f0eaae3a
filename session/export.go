package session

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// An export is a session as lines of JSON: first its ID, then its events, all of them and in order.

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

// Formats write a session in each of the formats for export.
var Formats = map[string]func(w io.Writer, s State, events []Event) error{
	"json":     func(w io.Writer, s State, events []Event) error { return WriteJSON(w, s.ID, events) },
	"markdown": func(w io.Writer, s State, _ []Event) error { return WriteMarkdown(w, s) },
}

// WriteJSON writes an export. Nothing is lost. ReadJSON reads the result back.
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

// Exported is a session that ReadJSON read.
type Exported struct {
	ID     string
	Events []Event // without a gap, from the first one on
}

// ErrExport means that the input is not an export of a session.
var ErrExport = errors.New("not an exported session")

// longestLine is the limit of a line, in bytes.
const longestLine = 256 << 20

// ReadJSON reads an export. If a line cannot be read, the result has the events before it, and the error names the line.
func ReadJSON(r io.Reader) (Exported, error) {
	in := bufio.NewReader(r)
	start, err := in.Peek(64)
	if err != nil && !errors.Is(err, io.EOF) {
		return Exported{}, err
	}
	if !bytes.HasPrefix(bytes.TrimLeft(start, "\ufeff \t\r\n"), []byte(`{"stet_session":`)) {
		return Exported{}, ErrExport
	}
	var x Exported
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	for n := 1; lines.Scan(); n++ {
		raw := bytes.Trim(lines.Bytes(), "\ufeff \t\r")
		if len(raw) == 0 {
			continue
		}
		if err := x.add(raw); err != nil {
			return x, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return x, lines.Err()
}

// add reads a line: the ID, if there is none yet, and else the next event.
func (x *Exported) add(raw []byte) error {
	if !utf8.Valid(raw) {
		return errors.New("it is not UTF-8")
	}
	if x.ID == "" {
		var first exported
		if err := json.Unmarshal(raw, &first); err != nil {
			return err
		}
		if !plainID(first.Session) {
			return fmt.Errorf("%q is no ID of a session", first.Session)
		}
		x.ID = first.Session
		return nil
	}
	var l line
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	last := uint64(len(x.Events))
	if l.Seq != last+1 {
		return fmt.Errorf("it is not event %d of the session", last+1)
	}
	body, err := Decode(l.Kind, l.Version, l.Body)
	if err != nil {
		return err
	}
	e := Event{l.Seq, l.Time.UTC(), l.Version, body}
	if _, err := (Batch{Session: x.ID, After: last, Events: []Event{e}}).Prepared(e.Time); err != nil {
		return err
	}
	if _, err := Encode(body); err != nil {
		return err
	}
	x.Events = append(x.Events, e)
	return nil
}

// plainID reports whether an ID from outside can be shown unchanged.
func plainID(id string) bool {
	return id != "" && len(id) <= 128 && strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}

// Restore stores an exported session under its own ID. If the session exists, only the events that it lacks are added. ErrImported
// means that it has all.
func Restore(ctx context.Context, store Store, x Exported) error {
	if len(x.Events) == 0 {
		return fmt.Errorf("session %s: no event could be read", x.ID)
	}
	err := store.Append(ctx, Batch{Session: x.ID, Events: x.Events})
	if errors.Is(err, ErrStale) {
		return addMissing(ctx, store, x)
	}
	return err
}

// addMissing stores the events that an existing session lacks.
func addMissing(ctx context.Context, store Store, x Exported) error {
	have, damaged, err := store.Events(ctx, x.ID, 0)
	if err != nil {
		return err
	}
	if len(damaged) > 0 {
		return fmt.Errorf("session %s: %w, and damaged", x.ID, ErrImported)
	}
	for i, e := range x.Events {
		if i < len(have) && !sameEvent(have[i], e) {
			return fmt.Errorf("session %s is there already, and has gone another way from event %d", x.ID, e.Seq)
		}
	}
	if len(x.Events) <= len(have) {
		return fmt.Errorf("session %s: %w", x.ID, ErrImported)
	}
	return store.Append(ctx, Batch{Session: x.ID, After: uint64(len(have)), Events: x.Events[len(have):]})
}

// sameEvent reports whether two events are equal. Both can be encoded.
func sameEvent(a, b Event) bool {
	first, _ := Encode(a.Body)
	second, _ := Encode(b.Body)
	return a.Time.Truncate(time.Microsecond).Equal(b.Time.Truncate(time.Microsecond)) && a.Kind() == b.Kind() && string(first) == string(second)
}

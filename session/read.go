package session

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"
)

// Exported is a session that ReadJSON read.
type Exported struct {
	ID      string
	Events  []Event   // in the order of their numbers; some may be missing
	Skipped []Skipped // the lines that are not in Events
}

// Skipped is a line of an export that was not used.
type Skipped struct {
	Line int // from 1
	Why  string
	Lost bool // something is missing for it; false: it stands there twice
}

func (s Skipped) String() string { return fmt.Sprintf("line %d: %s", s.Line, s.Why) }

// Lost returns how many lines were skipped for which something is missing, and how many events are missing before the last one.
func (x *Exported) Lost() (lines, events int) {
	for _, s := range x.Skipped {
		if s.Lost {
			lines++
		}
	}
	if n := len(x.Events); n > 0 {
		events = int(x.Events[n-1].Seq) - n
	}
	return lines, events
}

// plainID reports whether an ID from outside can be shown unchanged.
func plainID(id string) bool {
	return id != "" && len(id) <= 128 && strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}

// ErrExport means that the input is not an export of a session.
var ErrExport = errors.New("not an exported session")

const (
	longestLine = 256 << 20 // bytes of a line; a longer one is skipped, and is not held in memory
	mostSkipped = 10_000    // skipped lines that are listed, for a session
	firstLines  = 1000      // an export has an event or a session's ID in so many lines
)

// ReadJSON reads what WriteJSON wrote, also several exports one after the other. A line that is damaged costs itself alone: the events of
// other lines keep their numbers, in whatever order they stand. A session whose first line is missing gets an ID that is made from its events.
func ReadJSON(r io.Reader) ([]Exported, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var x exports
	for n := 1; ; n++ {
		raw, err := readLine(in)
		switch raw = bytes.TrimSpace(raw); {
		case errors.Is(err, bufio.ErrTooLong):
			x.now().skip(n, err.Error(), true)
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case len(raw) > 0:
			x.line(n, raw)
		}
		if errors.Is(err, io.EOF) || n == firstLines && !x.found() {
			return x.sessions()
		}
	}
}

// readLine reads a line. With bufio.ErrTooLong the line was passed over.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for long := false; ; {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > longestLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, fmt.Errorf("%w: at most %d MB", bufio.ErrTooLong, longestLine>>20)
		default:
			return line, err
		}
	}
}

// exports are the sessions of one input.
type exports struct {
	all []*reading
}

// reading is a session that is being read.
type reading struct {
	Exported
	events []placed
}

// placed is an event and the line that it is in.
type placed struct {
	Event
	line int
}

// now returns the session that lines belong to.
func (x *exports) now() *reading {
	if len(x.all) == 0 {
		x.begin("")
	}
	return x.all[len(x.all)-1]
}

func (x *exports) found() bool { return len(x.now().events) > 0 || x.now().ID != "" || len(x.all) > 1 }

// begin makes id the session that lines belong to. The ID is "" if it is not known.
func (x *exports) begin(id string) {
	i := slices.IndexFunc(x.all, func(r *reading) bool { return id != "" && r.ID == id })
	if i < 0 {
		x.all = append(x.all, &reading{Exported: Exported{ID: id}})
		return
	}
	r := x.all[i]
	x.all = append(slices.Delete(x.all, i, i+1), r)
}

func (r *reading) skip(line int, why string, lost bool) {
	if len(r.Skipped) < mostSkipped {
		r.Skipped = append(r.Skipped, Skipped{line, why, lost})
	}
}

// line reads a line. In one that was cut off the next one may begin without a line break.
func (x *exports) line(n int, raw []byte) {
	err := x.value(n, raw)
	if err == nil {
		return
	}
	next := startOfLine(raw[1:]) + 1
	if next == 0 {
		x.now().skip(n, err.Error(), true)
		return
	}
	if err := x.value(n, raw[:next]); err != nil {
		x.now().skip(n, err.Error(), true)
	}
	x.line(n, raw[next:])
}

// startOfLine returns the index of the beginning of a line, or -1. Inside of a string quotes are escaped.
func startOfLine(b []byte) int {
	at := -1
	for _, start := range []string{`{"seq":`, `{"stet_session":`} {
		if i := bytes.Index(b, []byte(start)); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	return at
}

func (x *exports) value(n int, raw []byte) error {
	var l struct {
		exported
		line
	}
	raw = bytes.Trim(raw, "\ufeff\x00 \t\r\n") // a mark may also be after a line that has lost its end
	if !utf8.Valid(raw) {
		return errors.New("it is not UTF-8")
	}
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	if id := l.Session; id != "" {
		if !plainID(id) {
			x.begin("")
			return fmt.Errorf("%q is no ID of a session", id)
		}
		x.begin(id)
		return nil
	}
	s := x.now()
	e, err := l.event(cmp.Or(s.ID, "without ID"))
	if err != nil {
		return err
	}
	if e.Seq == 1 {
		if i := slices.IndexFunc(s.events, func(p placed) bool { return p.Seq == 1 }); i >= 0 && !sameEvent(s.events[i].Event, e) {
			x.begin("") // the opening of another session
			s = x.now()
		}
	}
	s.events = append(s.events, placed{e, n})
	return nil
}

// event returns the event of a line of a session, if a store accepts it.
func (l line) event(id string) (Event, error) {
	if !bytes.HasPrefix(l.Body, []byte("{")) || l.Seq == 0 {
		return Event{}, errors.New("it is no event")
	}
	body, err := Decode(l.Kind, l.Version, l.Body)
	if err != nil {
		return Event{}, err
	}
	e := Event{l.Seq, l.Time.UTC(), l.Version, body}
	if _, err := (Batch{Session: id, After: e.Seq - 1, Events: []Event{e}}).Prepared(e.Time); err != nil {
		return Event{}, err
	}
	_, err = Encode(body)
	return e, err
}

// sessions returns the sessions that have events.
func (x *exports) sessions() ([]Exported, error) {
	var out []Exported
	var before []Skipped
	for _, r := range x.all {
		if r.ID == "" && len(r.events) > 0 {
			r.skip(r.events[0].line, "the line with the session's ID is missing before this one", true)
		}
		r.order()
		if r.Skipped = append(before, r.Skipped...); len(r.Events) == 0 && (r.ID == "" || len(x.all) > 1) {
			before = r.Skipped
			continue
		}
		before = nil
		if r.ID == "" {
			r.ID = madeID(r.Events[0])
		}
		out = append(out, r.Exported)
	}
	if len(out) == 0 {
		return nil, ErrExport
	}
	last := &out[len(out)-1]
	last.Skipped = append(last.Skipped, before...)
	return out, nil
}

// madeID returns an ID for a session whose ID is not known. It is the same whenever the events are.
func madeID(first Event) string {
	body, _ := Encode(first.Body) // it was encoded before
	return fmt.Sprintf("found-%x", sha256.Sum256(append(body, first.Time.Format(time.RFC3339Nano)...)))[:22]
}

// order sets Events. The longest series of lines with rising numbers is trusted. Of the other lines those are used whose
// numbers are missing there: lines that were moved.
func (r *reading) order() {
	kept, rest := rising(r.events)
	have, last := map[uint64]Event{}, uint64(0)
	for _, e := range kept {
		have[e.Seq], last = e.Event, e.Seq
	}
	last += uint64(len(r.Skipped)) // as many numbers may be missing after the last one
	slices.SortStableFunc(rest, func(a, b placed) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, e := range rest {
		other, twice := have[e.Seq]
		switch {
		case twice && sameEvent(other, e.Event):
			r.skip(e.line, fmt.Sprintf("event %d stands there twice", e.Seq), false)
		case twice:
			r.skip(e.line, fmt.Sprintf("there is another event %d", e.Seq), true)
		case e.Seq > last+1:
			r.skip(e.line, fmt.Sprintf("event %d does not belong there", e.Seq), true)
		default:
			kept = append(kept, e)
			have[e.Seq], last = e.Event, max(last, e.Seq)
		}
	}
	slices.SortFunc(kept, func(a, b placed) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, e := range kept {
		r.Events = append(r.Events, e.Event)
	}
	slices.SortStableFunc(r.Skipped, func(a, b Skipped) int { return cmp.Compare(a.Line, b.Line) })
}

// rising splits events into a longest series with rising numbers, and the rest. A number with too little before it is in the rest.
func rising(all []placed) (series, rest []placed) {
	most := 2*uint64(len(all)) + 1000
	var ends []int // ends[n] is the index of the smallest number that ends a series of n+1
	before := make([]int, len(all))
	for i, e := range all {
		n := sort.Search(len(ends), func(n int) bool { return all[ends[n]].Seq >= e.Seq })
		switch before[i] = -1; {
		case e.Seq > most, n < len(ends) && all[ends[n]].Seq == e.Seq:
			continue
		case n > 0:
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		}
		ends[n] = i
	}
	in := make([]bool, len(all))
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			in[i] = true
		}
	}
	for i, e := range all {
		if in[i] {
			series = append(series, e)
		} else {
			rest = append(rest, e)
		}
	}
	return series, rest
}

package rows

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/stet-dev/stet/session"
)

// Infos is the table of sessions. The column key, which events refer to, is not in it.
var Infos = mapping("sessions", func(i *session.Info) []column {
	return []column{
		{"id", &i.ID}, {"dir", &i.Dir}, {"source", &i.Source}, {"title", &i.Title}, {"first", &i.First}, {"model", &i.Model},
		{"parent", &i.From.Session}, {"parent_seq", &i.From.Seq}, {"relation", (*string)(&i.From.Relation)}, {"next", &i.Next},
		{"closed", &i.Closed}, {"created_us", &i.Created}, {"updated_us", &i.Updated}, {"last", &i.Last}, {"count", &i.Count},
	}
})

// Event is an event in its stored form.
type Event struct {
	Place   int64 // position in the order in which events were stored
	Key     int64 // key of the session
	Seq     uint64
	Micro   int64
	Kind    string
	Version int
	Body    string
	Sum     int64 // the stored checksum
}

// Events is the table of events.
var Events = mapping("events", func(e *Event) []column {
	return []column{
		{"place", &e.Place}, {"session", &e.Key}, {"seq", &e.Seq}, {"time_us", &e.Micro}, {"kind", &e.Kind}, {"version", &e.Version},
		{"sum", &e.Sum}, {"body", &e.Body},
	}
})

// EncodeEvents converts the events of a batch, which are Prepared, to their stored form. It does not set Key and Sum.
func EncodeEvents(id string, events []session.Event) ([]Event, error) {
	out := make([]Event, len(events))
	for i, e := range events {
		body, err := session.Encode(e.Body)
		if err != nil {
			return nil, fmt.Errorf("append to session %s: %w", id, err)
		}
		out[i] = Event{Seq: e.Seq, Micro: e.Time.UnixMicro(), Kind: string(e.Kind()), Version: e.Version, Body: string(body)}
	}
	return out, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum returns the CRC-32C of session, seq, time_us, kind and version, with a newline after each, and of body.
func (e Event) Checksum() uint32 {
	var head [96]byte
	b := fmt.Appendf(head[:0], "%d\n%d\n%d\n%s\n%d\n", e.Key, e.Seq, e.Micro, e.Kind, e.Version)
	return crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, []byte(e.Body))
}

// Decode returns the event. An error means that the event is damaged.
func (e Event) Decode() (session.Event, error) {
	out := session.Event{Seq: e.Seq, Time: at(e.Micro), Version: e.Version}
	if e.Sum != int64(e.Checksum()) {
		return out, errors.New("the stored bytes are not those that were written")
	}
	var err error
	out.Body, err = session.Decode(session.Kind(e.Kind), e.Version, []byte(e.Body))
	return out, err
}

// Reading is the part of a session that was read so far.
type Reading struct {
	Next   uint64 // number of the next event
	Events []session.Event
	Damage []session.Damage
}

// Add adds the next event that was found. A damaged event is added to Damage.
func (g *Reading) Add(r Event) {
	e, err := r.Decode()
	g.Gap(e.Seq, "missing")
	if err != nil {
		g.Gap(e.Seq+1, err.Error())
		return
	}
	g.Events = append(g.Events, e)
	g.Next = e.Seq + 1
}

// Gap records that the events before next could not be read, and why.
func (g *Reading) Gap(next uint64, why string) {
	if next <= g.Next {
		return
	}
	d := session.Damage{First: g.Next, Last: next - 1, Why: why}
	if n := len(g.Damage); n > 0 && g.Damage[n-1].Why == why && g.Damage[n-1].Last+1 == d.First {
		g.Damage[n-1].Last = d.Last
	} else {
		g.Damage = append(g.Damage, d)
	}
	g.Next = next
}

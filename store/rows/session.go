package rows

import (
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/stet-dev/stet/session"
)

// InfoColumns are the columns of sessions that make a session.Info, in the order of InfoValues.
const InfoColumns = `id, dir, source, title, first, model, parent, parent_seq, relation, next, closed, created_us, updated_us,
	last, count`

// InfoValues are the values of InfoColumns.
func InfoValues(i session.Info) []any {
	return []any{
		i.ID, i.Dir, i.Source, i.Title, i.First, i.Model, i.From.Session, int64(i.From.Seq), string(i.From.Relation),
		i.Next, int64(i.Closed), i.Created.UnixMicro(), i.Updated.UnixMicro(), int64(i.Last), i.Count,
	}
}

// ScanInfo reads the column key, and then InfoColumns.
func ScanInfo(r Row) (key int64, i session.Info, err error) {
	var created, updated int64
	var relation string
	err = r.Scan(&key, &i.ID, &i.Dir, &i.Source, &i.Title, &i.First, &i.Model, &i.From.Session, &i.From.Seq, &relation,
		&i.Next, &i.Closed, &created, &updated, &i.Last, &i.Count)
	i.From.Relation = session.Relation(relation)
	i.Created, i.Updated = at(created), at(updated)
	return key, i, err
}

// Event is an event in its stored form.
type Event struct {
	Place   int64 // position in the order in which events were stored
	Key     int64 // key of the session
	Seq     uint64
	Micro   int64
	Kind    string
	Version int
	Body    string
	Sum     uint32 // the stored checksum
}

// EventColumns are the columns of events, in the order of ScanEvent.
const EventColumns = "place, session, seq, time_us, kind, version, sum, body"

// ScanEvent reads EventColumns.
func ScanEvent(r Row) (e Event, err error) {
	var sum int64
	err = r.Scan(&e.Place, &e.Key, &e.Seq, &e.Micro, &e.Kind, &e.Version, &sum, &e.Body)
	e.Sum = uint32(sum)
	return e, err
}

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
	if e.Sum != e.Checksum() {
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

func at(micro int64) time.Time { return time.UnixMicro(micro).UTC() }

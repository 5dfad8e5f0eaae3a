package rows

import (
	"iter"
	"slices"

	"github.com/stet-dev/stet/session"
)

// hasText selects the kinds of events that have a text. Both schemas have an index for it.
const hasText = "kind IN ('" + string(session.KindMessage) + "', '" + string(session.KindTitle) + "')"

// SelectTexts returns the statement that selects the events that have a text and for which a condition holds, newest first. ScanText
// reads its rows.
func SelectTexts(condition string) string {
	return "SELECT id, " + Events.Columns + " FROM events JOIN sessions ON key = session WHERE " + hasText + condition +
		" ORDER BY time_us DESC, place DESC"
}

// Text is an event with the ID of its session.
type Text struct {
	Session string
	Event   Event
}

// ScanText reads a row of SelectTexts.
func ScanText(r Row) (t Text, err error) {
	t.Event, err = Events.Scan(r, &t.Session)
	return t, err
}

// Search returns the events among texts that have all words, at most limit (0: all). It stops reading when it has them.
func Search(texts iter.Seq2[Text, error], words []string, limit int) (out []session.Hit, err error) {
	words = slices.Clone(words)
	for i := range words {
		words[i] = session.Folded(words[i])
	}
	for t, err := range texts {
		if err != nil {
			return nil, err
		}
		if !session.MayMatch(t.Event.Body, words) {
			continue
		}
		e, err := t.Event.Decode()
		if err != nil || !e.Matches(words) {
			continue // a damaged event is not found
		}
		if out = append(out, session.Hit{Session: t.Session, Event: e}); len(out) == limit {
			break
		}
	}
	return out, nil
}

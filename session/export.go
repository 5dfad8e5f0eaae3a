package session

import (
	"bufio"
	"encoding/json"
	"io"
	"time"
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

// WriteJSON writes a session as lines of JSON: first its name, then its events. Nothing is lost. ReadJSON reads the result back.
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

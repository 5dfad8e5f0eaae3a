package rows

import (
	"encoding/json"

	"github.com/stet-dev/stet/record"
)

// TrailColumns are the columns of trail, in the order of TrailValues.
const TrailColumns = `seq, time_us, prev, hash, kind, intent, root, session, client, call_id, tool, path, bytes,
	before, after, decision, by, outcome, flags, request`

// TrailValues are the values of TrailColumns.
func TrailValues(e record.Entry) []any {
	return []any{
		int64(e.Seq), e.Time.UnixMicro(), e.Prev, e.Hash, string(e.Kind), int64(e.Intent), e.Root, e.Session, e.Client, e.CallID,
		e.Tool, e.Path, e.Bytes, e.Before, e.After, e.Decision, e.By, e.Outcome, texts(e.Flags), e.Request,
	}
}

// ScanEntry reads TrailColumns.
func ScanEntry(row Row) (e record.Entry, err error) {
	var micro int64
	var kind, flags string
	if err := row.Scan(&e.Seq, &micro, &e.Prev, &e.Hash, &kind, &e.Intent, &e.Root, &e.Session, &e.Client, &e.CallID,
		&e.Tool, &e.Path, &e.Bytes, &e.Before, &e.After, &e.Decision, &e.By, &e.Outcome, &flags, &e.Request); err != nil {
		return e, err
	}
	e.Time, e.Kind = at(micro), record.Kind(kind)
	if flags != "[]" && json.Unmarshal([]byte(flags), &e.Flags) != nil {
		e.Flags = []string{flags} // another program has changed the column: the hash shows the change, and the other columns can be read
	}
	return e, nil
}

package rows

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/stet-dev/stet/record"
)

// RequestColumns are the columns of requests, in the order of RequestValues.
const RequestColumns = `id, time_us, conversation, agent, client, api, model, upstream, status, policy,
	observe, passed, cut, bytes_in, bytes_out, tokens_off, tokens, input, cache_read, cache_write,
	cache_write_1h, output, reasoning, reads, repeats, dangling, trimmed, added_ns,
	gap_ns, lifetime_ns, moment, alive, broke, broke_at, tool_set,
	web_searches, speed, region, tier`

// RequestValues are the values of RequestColumns.
func RequestValues(r record.Request) []any {
	u, c := r.Usage, r.Cache
	return []any{
		r.ID, r.Time.UnixMicro(), r.Conversation, r.Agent, r.Client, r.API, r.Model, r.Upstream, r.Status, r.Policy,
		r.Observe, r.Passed, r.Cut, r.BytesIn, r.BytesOut, r.TokensOff, r.Tokens, u.Input, u.CacheRead, u.CacheWrite,
		u.CacheWrite1h, u.Output, u.Reasoning, r.Reads, r.Repeats, r.Dangling, r.Trimmed, int64(r.Added),
		int64(c.Gap), int64(c.Lifetime), c.Moment, c.Alive, c.Broke, c.BrokeAt, int64(r.ToolSet),
		u.WebSearches, u.Speed, u.Region, u.Tier,
	}
}

// ScanRequest reads RequestColumns.
func ScanRequest(row Row) (r record.Request, err error) {
	var micro, added, gap, lifetime, toolSet int64
	u, c := &r.Usage, &r.Cache
	err = row.Scan(&r.ID, &micro, &r.Conversation, &r.Agent, &r.Client, &r.API, &r.Model, &r.Upstream, &r.Status,
		&r.Policy, &r.Observe, &r.Passed, &r.Cut, &r.BytesIn, &r.BytesOut, &r.TokensOff, &r.Tokens, &u.Input,
		&u.CacheRead, &u.CacheWrite, &u.CacheWrite1h, &u.Output, &u.Reasoning, &r.Reads, &r.Repeats, &r.Dangling,
		&r.Trimmed, &added, &gap, &lifetime, &c.Moment, &c.Alive, &c.Broke, &c.BrokeAt, &toolSet,
		&u.WebSearches, &u.Speed, &u.Region, &u.Tier)
	r.Time, r.Added, r.ToolSet = at(micro), time.Duration(added), uint64(toolSet)
	c.Gap, c.Lifetime = time.Duration(gap), time.Duration(lifetime)
	return r, err
}

// TrimColumns are the columns of trims, in the order of TrimValues.
const TrimColumns = `request, time_us, conversation, call_id, paths, reason, before, after, observe`

// TrimValues are the values of TrimColumns.
func TrimValues(t record.Trim) []any {
	return []any{
		t.Request, t.Time.UnixMicro(), t.Conversation, t.CallID, texts(t.Paths), t.Reason, t.Before, t.After, t.Observe,
	}
}

// ScanTrim reads TrimColumns.
func ScanTrim(row Row) (t record.Trim, err error) {
	var micro int64
	var paths string
	if err := row.Scan(&t.Request, &micro, &t.Conversation, &t.CallID, &paths, &t.Reason, &t.Before, &t.After, &t.Observe); err != nil {
		return t, err
	}
	t.Time = at(micro)
	if paths != "[]" {
		err = json.Unmarshal([]byte(paths), &t.Paths)
	}
	return t, err
}

// TurnColumns are the columns of turns, in the order of TurnValues.
const TurnColumns = `prefix, time_us, moment, model, system, tools, lifetime_ns, account, conversation, elided, thread`

// TurnValues are the values of TurnColumns.
func TurnValues(t record.Turn) []any {
	return []any{
		int64(t.Prefix), t.Time.UnixMicro(), t.Moment, t.Model, int64(t.System), int64(t.Tools), int64(t.Lifetime), t.Account,
		t.Conversation, packed(t.Elided), int64(t.Thread),
	}
}

// ScanTurn reads TurnColumns.
func ScanTurn(row Row) (t record.Turn, err error) {
	var prefix, micro, system, tools, lifetime, thread int64
	var elided []byte
	err = row.Scan(&prefix, &micro, &t.Moment, &t.Model, &system, &tools, &lifetime, &t.Account, &t.Conversation, &elided, &thread)
	t.Prefix, t.System, t.Tools, t.Thread = uint64(prefix), uint64(system), uint64(tools), uint64(thread)
	t.Time, t.Lifetime, t.Elided = at(micro), time.Duration(lifetime), unpacked(elided)
	return t, err
}

// FormColumns are the columns of sent_forms, in the order of FormValues.
const FormColumns = `id, parent, rules, edits`

// FormValues are the values of FormColumns.
func FormValues(f record.SentForm) []any {
	edits := f.Edits
	if edits == nil {
		edits = []byte{}
	}
	return []any{int64(f.ID), int64(f.Parent), f.Rules, edits}
}

// ScanForm reads FormColumns.
func ScanForm(row Row) (f record.SentForm, err error) {
	var id, parent int64
	err = row.Scan(&id, &parent, &f.Rules, &f.Edits)
	f.ID, f.Parent = uint64(id), uint64(parent)
	return f, err
}

// PlaceColumns are the columns of sent_places, in the order of PlaceValues.
const PlaceColumns = `place, form, time_us, bound, drops`

// PlaceValues are the values of PlaceColumns.
func PlaceValues(p record.SentPlace) []any {
	return []any{int64(p.Place), int64(p.Form), p.Time.UnixMicro(), p.Bound, p.Drops}
}

// ScanPlace reads PlaceColumns.
func ScanPlace(row Row) (p record.SentPlace, err error) {
	var place, form, micro int64
	err = row.Scan(&place, &form, &micro, &p.Bound, &p.Drops)
	p.Place, p.Form, p.Time = uint64(place), uint64(form), at(micro)
	return p, err
}

// texts encodes a list of texts for one column, as a JSON array.
func texts(list []string) string {
	b, err := json.Marshal(list)
	if err != nil || len(list) == 0 {
		return "[]"
	}
	return string(b)
}

// packed encodes hashes for a column: 8 bytes each, little-endian.
func packed(hashes []uint64) []byte {
	out := make([]byte, 0, 8*len(hashes))
	for _, h := range hashes {
		out = binary.LittleEndian.AppendUint64(out, h)
	}
	return out
}

// unpacked is the reverse of packed. It returns nil for an empty column.
func unpacked(b []byte) (out []uint64) {
	for ; len(b) >= 8; b = b[8:] {
		out = append(out, binary.LittleEndian.Uint64(b))
	}
	return out
}

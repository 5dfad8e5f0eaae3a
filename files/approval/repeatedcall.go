package approval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/tool"
)

// Decisions in the trail about a call whose id was used before.
const (
	repeated = "repeated"
	undone   = "repeated: it was not done before"
	unclear  = "repeated: not known whether it was done"
)

// requestOf returns the trail's hash of a call's tool and arguments: a SHA-256 in hex. It tells a repeated call from another call
// with the same id.
func requestOf(c tool.Call) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s%d:%s", len(c.Name), c.Name, len(c.Arguments), c.Arguments)
	if c.Staged != nil {
		fmt.Fprintf(h, "%s", c.Staged.Sum())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// earlierCalls is what the trail records about the earlier calls with one id.
type earlierCalls struct {
	began   time.Time
	request string         // hash of the first call
	done    []record.Entry // writes that were done, or the entry of a call that had no change to make
	open    []record.Entry // intents without a known outcome
	code    string         // the error code of a call that wrote nothing; "": not known
	unclear bool           // it is not known whether the call was done
}

// readEarlier reads the entries with one call id, the oldest first.
func readEarlier(entries []record.Entry) earlierCalls {
	h := earlierCalls{began: entries[0].Time, request: entries[0].Request}
	for _, e := range entries {
		if e.Request != h.request {
			continue // another call, which was refused
		}
		switch {
		case e.Kind == record.Intent:
			h.open = append(h.open, e)
		case e.Kind == record.Outcome:
			h.conclude(e)
		case e.Decision == undone: // later entries are another attempt
			h.open = nil
		case e.Decision == unclear:
			h.unclear = true
		case e.Decision == repeated && e.Outcome == record.OK: // it was found to be done
			if h.done, h.open = append(h.done, h.open...), nil; len(h.done) == 0 {
				h.done = append(h.done, e) // the other entries are pruned
			}
		case e.Outcome == record.OK && e.Path != "": // there was no change to make
			h.done = append(h.done, e)
		case e.Outcome != record.OK && e.Outcome != record.Broke && e.Outcome != string(tool.RateLimited):
			h.code = e.Outcome
		}
	}
	return h
}

// conclude handles the outcome of a write. If the file had changed, the call continues and plans again. After an error the file may
// or may not be written.
func (h *earlierCalls) conclude(e record.Entry) {
	if e.Outcome == record.Broke {
		return
	}
	h.open = slices.DeleteFunc(h.open, func(intent record.Entry) bool { return intent.Seq == e.Intent })
	switch e.Outcome {
	case record.OK:
		h.done = append(h.done, e) // its intent may be pruned
	case string(tool.ConcurrentModification):
	default:
		h.code = e.Outcome
	}
}

// earlier answers a call whose id was used before from the record. over is false if the call must be done: it is the first call
// with its id, or the first one did nothing.
func (r *run) earlier(ctx context.Context) (res tool.Result, over bool, err error) {
	j := r.h.journal()
	if j.Trail == nil {
		return tool.Result{}, false, nil
	}
	r.request = requestOf(r.c)
	if err = j.Flush(ctx); err != nil {
		return tool.Result{}, true, fmt.Errorf("audit trail: %w", err)
	}
	entries, err := j.Trail.Entries(ctx, record.TrailQuery{Root: r.h.Root, Session: r.c.Session, CallID: r.c.ID})
	if err != nil {
		return tool.Result{}, true, fmt.Errorf("audit trail: %w", err)
	}
	if len(entries) == 0 {
		return tool.Result{}, false, nil
	}
	h := readEarlier(entries)
	if h.request != r.request {
		return r.repeat(repeated, nil, tool.InvalidArgument, "This call_id was used before in this session, for another call. Nothing was done: make this one as a new call, with an id of its own.")
	}
	if len(h.open) > 0 && !h.unclear {
		if err := r.checkFiles(ctx, &h); err != nil {
			return tool.Result{}, true, err
		}
	}
	at := h.began.Format(time.RFC3339)
	switch {
	case h.unclear:
		return r.repeat(unclear, h.open, tool.ConcurrentModification, fmt.Sprintf(
			"This call was begun before, at %s, and how it ended is not recorded. The file is neither as it was before the call nor as the call would have left it. "+
				"Whether the call was done is not known, and nothing was written now: read the file, and make a new call for what is still to be done.", at))
	case len(h.done) > 0:
		return r.doneBefore(h.done, at)
	case h.code != "":
		return r.repeat(repeated, nil, tool.Code(h.code), fmt.Sprintf(
			"This call was made before, at %s, and ended so: %s. Nothing was written, then or now: make a new call if it is still to be done.", at, h.code))
	}
	return tool.Result{}, false, nil
}

// checkFiles decides by the files' hashes whether writes without a recorded outcome were done. If each file has the new content,
// they were done. If each file has the old content, they were not. Otherwise it is unclear.
func (r *run) checkFiles(ctx context.Context, h *earlierCalls) error {
	before, after := 0, 0
	for _, e := range h.open {
		if e.Path == "" || r.h.Version == nil {
			continue // another tool did it outside of the workspace
		}
		is, err := r.h.Version(ctx, e.Path)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // the file has neither the old nor the new content
		case is == e.After:
			after++
		case is == e.Before:
			before++
		}
	}
	switch len(h.open) { // at least 1
	case before:
		e := r.entry(record.Call, nil)
		e.Path, e.Before, e.Decision, e.By, e.Outcome = h.open[0].Path, h.open[0].Before, undone, "handler", string(tool.Cancelled)
		h.open = nil
		return r.record(e)
	case after:
		h.done, h.open = append(h.done, h.open...), nil
	default:
		h.unclear = true
	}
	return nil
}

// doneBefore returns the result of a call that was done before.
func (r *run) doneBefore(done []record.Entry, at string) (tool.Result, bool, error) {
	type data struct {
		Path    string   `json:"path"`
		Version string   `json:"version,omitempty"`
		Files   []string `json:"files,omitempty"` // if there are several files
		Notes   []string `json:"notes"`
	}
	said := struct {
		Success bool  `json:"success"`
		Bytes   int64 `json:"bytes_written"`
		Data    data  `json:"data"`
	}{Success: true, Data: data{Notes: []string{"this call was done before, at " + at + "; nothing was written now"}}}
	for _, e := range done {
		if e.Kind != record.Call {
			said.Bytes += e.Bytes
		}
		said.Data.Path, said.Data.Version = e.Path, e.After[:min(len(e.After), 16)]
		if len(done) > 1 {
			said.Data.Files = append(said.Data.Files, e.Path)
		}
	}
	text, err := json.Marshal(said)
	if err != nil {
		return tool.Result{}, true, err
	}
	r.decision, r.by = repeated, "handler"
	for _, e := range done {
		own := r.entry(record.Call, nil)
		own.Path, own.Before, own.After, own.Outcome = e.Path, e.Before, e.After, record.OK
		if err := r.record(own); err != nil {
			return tool.Result{}, true, err
		}
	}
	return tool.Result{Text: string(text)}, true, nil
}

// repeat refuses a call whose id was used before. of has its writes that are not known to be done.
func (r *run) repeat(decision string, of []record.Entry, code tool.Code, message string) (tool.Result, bool, error) {
	r.decision, r.by = decision, "handler"
	p := &tool.Plan{}
	if len(of) > 0 {
		p.Path, p.Before = of[0].Path, of[0].Before
	}
	res, err := r.finish(p, (&refused{code: code, message: message}).result(r))
	return res, true, err
}

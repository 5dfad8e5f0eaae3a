package record

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Write is a write that was done, or may have been done.
type Write struct {
	Seq     uint64 // the Seq of the intent
	Time    time.Time
	Root    string
	Session string
	Client  string
	CallID  string
	Tool    string
	Path    string
	Bytes   int64
	Before  string // the content hash that undoing restores; "": there was no file
	After   string // the content hash that the file must still have for undoing
	Dirs    int    // number of directories that were made for the file: the last ones in Path
	Open    bool   // not known whether it was done: it is under way, it failed with an error, or its process ended before the outcome
}

// Writes lists the writes of a session, the oldest first, from the intent with the number since on. Session "" means all
// sessions. Refused writes are not listed.
func Writes(ctx context.Context, t Trail, session string, since uint64) ([]Write, error) {
	q := TrailQuery{Session: session, Kinds: []Kind{Intent, Outcome}, Limit: page}
	if since > 0 {
		q.After = since - 1
	}
	at := map[uint64]int{}
	var out []Write
	for {
		entries, err := t.Entries(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			q.After = e.Seq
			if e.Kind == Intent && e.Path == "" {
				continue // done by a tool of another server; the file is not known
			}
			if e.Kind == Intent {
				at[e.Seq] = len(out)
				out = append(out, Write{
					Seq: e.Seq, Time: e.Time, Root: e.Root, Session: e.Session, Client: e.Client, CallID: e.CallID,
					Tool: e.Tool, Path: e.Path, Bytes: e.Bytes, Before: e.Before, After: e.After, Dirs: newDirs(e.Flags), Open: true,
				})
				continue
			}
			i, ok := at[e.Intent]
			if !ok {
				continue // its intent is before since
			}
			switch e.Outcome {
			case OK:
				out[i].Open = false
			case Broke: // it may have failed after the file was written
			default:
				out[i].Seq = 0
			}
		}
		if len(entries) < page {
			return slices.DeleteFunc(out, func(w Write) bool { return w.Seq == 0 }), nil
		}
	}
}

// NewDirs returns the flag of an intent that makes n directories for its file.
func NewDirs(n int) string { return fmt.Sprintf("%d new directories", n) }

// newDirs returns the number in the flag of NewDirs, or 0 if there is none.
func newDirs(flags []string) int {
	for _, f := range flags {
		if s, ok := strings.CutSuffix(f, " new directories"); ok {
			if n, err := strconv.Atoi(s); err == nil {
				return n
			}
		}
	}
	return 0
}

// Settle returns those of the writes to one file, the oldest first, that were done, where now is the file's content hash. A process
// that was killed has not recorded whether its last writes were. If neither the file nor the next write shows it, the write stays, and
// the file is not as it left it.
func Settle(writes []Write, now string) []Write {
	var done []Write
	for _, w := range slices.Backward(writes) {
		if w.Open && w.After != now && w.Before == now {
			continue
		}
		done = append(done, w)
		now = w.Before
	}
	slices.Reverse(done)
	return done
}

// Undoable returns the writes that have not been undone, the oldest first as in all.
func Undoable(all []Write) []Write {
	type file struct{ root, path string }
	undone := map[uint64]bool{}
	stacks := map[file][]Write{}
	for _, w := range all {
		f := file{w.Root, w.Path}
		stack := stacks[f]
		for n := len(stack) - 1; n >= 0 && !w.Open && stack[n].Open && stack[n].After != w.Before && stack[n].Before == w.Before; n-- {
			undone[stack[n].Seq] = true // the process ended before it was done
			stack = stack[:n]
		}
		if w.Tool == "undo" && !w.Open && len(stack) > 0 && stack[len(stack)-1].After == w.Before {
			for i := len(stack) - 1; i >= 0; i-- {
				if stack[i].Before != w.After {
					continue
				}
				for _, u := range stack[i:] {
					undone[u.Seq] = true
				}
				stack = stack[:i]
				undone[w.Seq] = true // an undo that was matched is itself not a write to undo
				break
			}
		}
		if !undone[w.Seq] {
			stack = append(stack, w)
		}
		stacks[f] = stack
	}
	var left []Write
	for _, w := range all {
		if !undone[w.Seq] {
			left = append(left, w)
		}
	}
	return left
}

package record

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Write is a write that was done, or may have been.
type Write struct {
	Seq     uint64 // of its intent
	Time    time.Time
	Root    string
	Session string
	Client  string
	CallID  string
	Tool    string
	Path    string
	Bytes   int64
	Before  string // what undoing goes back to; "": there was no file
	After   string // what the file must still hold for that
	Dirs    int    // directories that were made for it: the last so many of Path's
	Open    bool   // whether it was done is not known: it is under way, or it broke, or its process ended in the middle
}

// Writes lists a session's writes ("": of all sessions), oldest first, from
// the one of that number on. Writes that were refused are not among them. (FILE-12)
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
				continue // done outside, and to no file that is known
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
				continue // of a write before since
			}
			switch e.Outcome {
			case OK:
				out[i].Open = false
			case Broke: // at a place where the file may have been written already
			default:
				out[i].Seq = 0
			}
		}
		if len(entries) < page {
			return slices.DeleteFunc(out, func(w Write) bool { return w.Seq == 0 }), nil
		}
	}
}

// NewDirs is the flag of an intent that makes so many directories for its file.
func NewDirs(n int) string { return fmt.Sprintf("%d new directories", n) }

// newDirs reads the flag of NewDirs; 0 where it is missing.
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

// Undoable are the writes that have not been undone, oldest first as in all. (FILE-12)
func Undoable(all []Write) []Write {
	type file struct{ root, path string }
	undone := map[uint64]bool{}
	stacks := map[file][]Write{}
	for _, w := range all {
		f := file{w.Root, w.Path}
		stack := stacks[f]
		if w.Tool == "undo" && !w.Open && len(stack) > 0 && stack[len(stack)-1].After == w.Before {
			for i := len(stack) - 1; i >= 0; i-- {
				if stack[i].Before != w.After {
					continue
				}
				for _, u := range stack[i:] {
					undone[u.Seq] = true
				}
				stack = stack[:i]
				undone[w.Seq] = true // it is no step on the way there any more
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

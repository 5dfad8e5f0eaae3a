package record

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Link names an entry of the chain. A chain alone cannot show that its end is missing. A person can note the newest link
// elsewhere. The note shows later whether an entry up to that link is missing.
type Link struct {
	Seq  uint64
	Hash string
}

// Link returns the link of the entry.
func (e Entry) Link() Link { return Link{e.Seq, e.Hash} }

// String returns the link as NUMBER:HASH.
func (l Link) String() string { return fmt.Sprintf("%d:%s", l.Seq, l.Hash) }

// ParseLink parses the form that String returns. Any other string is an error.
func ParseLink(s string) (Link, error) {
	number, hash, ok := strings.Cut(s, ":")
	seq, err := strconv.ParseUint(number, 10, 63) // stores have signed numbers
	if !ok || err != nil || seq == 0 || len(hash) != 64 {
		return Link{}, fmt.Errorf("want NUMBER:HASH, have %q", s)
	}
	return Link{Seq: seq, Hash: hash}, nil
}

// Chain returns copies of entries as they follow the entry at last: with their numbers and hashes, and with times as a
// trail keeps them. The zero Link means that they are the first entries of the chain.
//
// Hash is a SHA-256 in lower-case hex. It covers "stet trail 1\n" and the fields in this order: Seq, Time (microseconds
// since 1970), Prev, Kind, Intent, Root, Session, Client, CallID, Tool, Path, Bytes, Before, After, Decision, By, Outcome,
// the number of flags, the flags, and Request if it is not empty. Each field is written as its length in bytes, a colon,
// its bytes, and a comma. Numbers are in decimal.
func Chain(last Link, entries []Entry) []Entry {
	out := make([]Entry, len(entries))
	for i, e := range entries {
		e.Seq, e.Prev, e.Time = last.Seq+1, last.Hash, stored(e.Time)
		e.Flags = slices.Clone(e.Flags)
		for i, f := range e.Flags {
			e.Flags[i] = strings.ToValidUTF8(f, "\uFFFD")
		}
		if len(e.Flags) == 0 {
			e.Flags = nil
		}
		e.Hash = e.hash()
		out[i], last = e, e.Link()
	}
	return out
}

func (e Entry) hash() string {
	b := []byte("stet trail 1\n")
	text := func(s string) {
		b = strconv.AppendInt(b, int64(len(s)), 10)
		b = append(b, ':')
		b = append(b, s...)
		b = append(b, ',')
	}
	number := func(n int64) { text(strconv.FormatInt(n, 10)) }
	text(strconv.FormatUint(e.Seq, 10))
	number(e.Time.UnixMicro())
	text(e.Prev)
	text(string(e.Kind))
	text(strconv.FormatUint(e.Intent, 10))
	for _, s := range []string{e.Root, e.Session, e.Client, e.CallID, e.Tool, e.Path} {
		text(s)
	}
	number(e.Bytes)
	for _, s := range []string{e.Before, e.After, e.Decision, e.By, e.Outcome} {
		text(s)
	}
	number(int64(len(e.Flags)))
	for _, s := range e.Flags {
		text(s)
	}
	if e.Request != "" {
		text(e.Request)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Verdict is the result of Verify.
type Verdict struct {
	Entries int  // number of valid entries, counted from the first
	Head    Link // the last valid entry
	Pruned  Link // the newest entry that pruning has removed; zero: none
	Broken  *Break
	// Open are the intents without an outcome. Such a write is under way, or its process ended before it wrote the outcome.
	Open []Entry
	// Losses are the entries in which a person has accepted a loss.
	Losses []Entry
}

// Break is the first entry at which the chain is not valid.
type Break struct {
	Seq uint64
	Why string
}

// page is the number of entries that are read from a trail at once.
const page = 1000

// Verify checks the chain from its first entry, or from where it was pruned, to its end or to its first break. known are
// links that were noted earlier. They must be in the chain, and so must the links that the trail itself has noted (Noter).
// Links before the entry up to which the trail was pruned cannot be checked. The error is one of reading the trail.
func Verify(ctx context.Context, t Trail, known ...Link) (Verdict, error) {
	own, lost := noted(ctx, t)
	if lost != nil && !errors.Is(lost, ErrLost) {
		return Verdict{}, lost
	}
	w := walk{open: map[uint64]Entry{}, wanted: map[uint64]string{}}
	for _, k := range append(own, known...) {
		if has, ok := w.wanted[k.Seq]; ok && has != k.Hash {
			w.Broken = &Break{k.Seq, "the chain was rewritten: two different entries of this number were noted"}
			return w.Verdict, nil
		}
		if k.Seq > 0 {
			w.wanted[k.Seq] = k.Hash
		}
	}
	for {
		entries, err := t.Entries(ctx, TrailQuery{After: w.Head.Seq, Limit: page})
		if err != nil {
			return w.end(), err
		}
		if len(entries) > 0 && w.Entries == 0 {
			if w.Broken, err = w.begin(ctx, t, entries[0]); w.Broken != nil || err != nil {
				return w.end(), err
			}
		}
		for _, e := range entries {
			if why := w.follow(e); why != "" {
				w.Broken = &Break{e.Seq, why}
				return w.end(), nil
			}
			w.Entries++
			w.Head = e.Link()
		}
		if len(entries) < page {
			break
		}
	}
	switch missing := slices.Sorted(maps.Keys(w.wanted)); {
	case len(missing) > 0:
		w.Broken = &Break{w.Head.Seq + 1, fmt.Sprintf("the end is missing: there was an entry %d", missing[len(missing)-1])}
	case lost != nil:
		w.Broken = &Break{w.Head.Seq + 1, lost.Error()}
	}
	return w.end(), nil
}

// walk is the state of Verify.
type walk struct {
	Verdict
	open   map[uint64]Entry
	wanted map[uint64]string
}

func (w *walk) end() Verdict {
	for _, seq := range slices.Sorted(maps.Keys(w.open)) {
		w.Open = append(w.Open, w.open[seq])
	}
	return w.Verdict
}

// begin checks the first entry of the trail. If its number is not 1, a Prune entry must say that the entries before it were
// removed.
func (w *walk) begin(ctx context.Context, t Trail, first Entry) (*Break, error) {
	if first.Seq <= 1 {
		return nil, nil
	}
	base := Link{first.Seq - 1, first.Prev}
	checkpoint, err := t.Entries(ctx, TrailQuery{Kinds: []Kind{Prune}, Limit: 1, Last: true})
	if err != nil {
		return nil, err
	}
	if len(checkpoint) == 0 || checkpoint[0].Intent != base.Seq || checkpoint[0].Before != base.Hash {
		return &Break{first.Seq, fmt.Sprintf("entry %d is missing", base.Seq)}, nil
	}
	if hash, ok := w.wanted[base.Seq]; ok && hash != base.Hash {
		return &Break{first.Seq, "the chain was rewritten: the entry before is not the one that was noted"}, nil
	}
	w.Pruned, w.Head = base, base
	maps.DeleteFunc(w.wanted, func(seq uint64, _ string) bool { return seq <= w.Pruned.Seq })
	return nil, nil
}

// follow checks e against the entry before it. It returns what is wrong, or "". It also updates the open intents and the
// losses.
func (w *walk) follow(e Entry) string {
	switch {
	case e.Seq != w.Head.Seq+1:
		return fmt.Sprintf("entry %d is missing", w.Head.Seq+1)
	case e.Hash != e.hash():
		return "the entry was changed"
	case e.Prev != w.Head.Hash:
		return "the entry before it is another one"
	}
	if hash, ok := w.wanted[e.Seq]; ok && hash != e.Hash {
		return "the chain was rewritten: the entry is not the one that was noted"
	}
	delete(w.wanted, e.Seq)
	switch e.Kind {
	case Intent:
		w.open[e.Seq] = e
	case Outcome:
		if _, ok := w.open[e.Intent]; !ok && (e.Intent == 0 || e.Intent > w.Pruned.Seq) {
			return fmt.Sprintf("the outcome of entry %d, which is no open intent", e.Intent)
		}
		delete(w.open, e.Intent)
	case Loss:
		w.Losses = append(w.Losses, e)
	}
	return ""
}

// stored returns t as every store keeps it: in UTC, with microseconds.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

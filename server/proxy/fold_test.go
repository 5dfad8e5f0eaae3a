package proxy

import (
	"bytes"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/trim"
)

// foldStore is a store of folded outputs.
type foldStore struct {
	texts map[string]string
	full  bool // no more can be kept
}

func (k *foldStore) Keep(id, text string) error {
	if k.full {
		return errors.New("the disk is full")
	}
	k.texts[id] = text
	return nil
}

var foldLine = regexp.MustCompile(`\[stet: \d+ of \d+ lines left out; run \\"stet show ([0-9a-f]{16}) \d+-\d+\\" to see them\]`)

// Long outputs are folded when they are sent for the first time. What a fold leaves out is kept before the request goes out. In
// front of thinking that is checked, the folds stay after a restart, when nothing more can be kept, and when folding is turned
// off (WIRE-1, WIRE-2).
func TestFolds(t *testing.T) {
	strictly(t, func(s *strict) {
		var log bytes.Buffer
		k := &foldStore{texts: make(map[string]string)}
		s.lines = 300
		s.config.History = trim.Config{Policy: trim.Bold}
		s.config.Folds, s.config.Logger = k, slog.New(slog.NewTextHandler(&log, nil))
		s.asked = func() {
			for _, m := range foldLine.FindAllStringSubmatch(s.sent(), -1) { // at the first call, that is the request before
				if trim.FoldID(k.texts[m[1]]) != m[1] {
					t.Errorf("what %s left out is not kept", m[0])
				}
			}
		}
		folds := func() int { return len(foldLine.FindAllString(s.sent(), -1)) }
		a := s.session("claude-opus-5-5")
		a.rounds(10, s.proxy()) // the last request has 9 outputs, 3 of them from reads
		if n := folds(); n != 6 || len(k.texts) != 6 {
			t.Errorf("%d outputs were folded, %d kept", n, len(k.texts))
		}
		for id, text := range k.texts {
			if strings.Count(text, "\n") != s.lines {
				t.Errorf("of %s this is kept: %.200q", id, text)
			}
		}

		k.full, s.asked = true, nil
		a.rounds(6, s.proxy())
		if n := folds(); n != 10 || strings.Count(log.String(), "is not kept") == 0 {
			t.Errorf("on a full disk %d outputs are folded; the log has %.500s", n, &log)
		}
		if strings.Count(log.String(), "is not kept") > 3 {
			t.Error("the log says more than once that the disk is full")
		}

		s.config.Folds = nil
		a.rounds(6, s.proxy())
		if n := folds(); n != 10 {
			t.Errorf("when folds are off %d outputs are folded, 10 were", n)
		}
		if s.refused() > 0 || s.dropped() > 0 {
			t.Errorf("%d requests were refused, %d asked to drop thinking", s.refused(), s.dropped())
		}
	})
}

// A conversation with folds goes on after the store is lost.
func TestFoldsAreForgotten(t *testing.T) {
	strictly(t, func(s *strict) {
		s.lines = 300
		s.config.History = trim.Config{Policy: trim.Bold}
		s.config.Folds = &foldStore{texts: make(map[string]string)}
		a := s.session("claude-opus-5-5")
		a.rounds(10, s.proxy())
		s.store = new(record.Memory)
		a.rounds(6, s.proxy())
		if n := len(foldLine.FindAllString(s.sent(), -1)); n != 10 || s.dropped() > 0 {
			t.Errorf("%d outputs are folded; %d requests asked to drop thinking", n, s.dropped())
		}
	})
}

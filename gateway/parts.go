package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/stet-dev/stet/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// maxContent is how large a content may be that comes in parts, in bytes, where
// nothing else is said. (FILE-9)
const maxContent = 100 << 20

// stream is the order of a content in parts, as the hub checks it while it passes them
// on.
type stream struct {
	next  int  // the part that is to come
	taken int  // how many parts were taken
	size  int  // bytes so far
	whole bool // the last part has come
}

// add notes a part. If that cannot be, it returns why the call ends. limit is in bytes.
func (s *stream) add(f *wire.Part, limit int) *reason {
	switch {
	case s.whole:
		return &reason{tool.InvalidArgument, fmt.Sprintf("Part %d came after the last one.", f.Seq)}
	case f.Seq != s.next:
		return &reason{tool.InvalidArgument, fmt.Sprintf("Part %d came where part %d was to come.", f.Seq, s.next)}
	case s.next-s.taken >= wire.PartsAhead:
		return &reason{tool.InvalidArgument, fmt.Sprintf("Part %d came before it was wanted: at most %d may be on their way that were not taken.", f.Seq, wire.PartsAhead)}
	case len(f.Data) > limit-s.size:
		return &reason{tool.FileTooLarge, fmt.Sprintf("The content has more than %d bytes.", limit)}
	}
	s.next++
	s.size += len(f.Data)
	s.whole = f.Last
	return nil
}

// take notes that parts were taken, and reports whether that can be.
func (s *stream) take(f *wire.Taken) bool {
	if f.Seq < s.taken || f.Seq >= s.next {
		return false
	}
	s.taken = f.Seq + 1
	return true
}

// window is the sender's side of a stream: how many of its parts were taken. The
// zero window is ready.
type window struct {
	mu      sync.Mutex
	taken   int
	changed chan struct{} // closed when something changes; nil: no goroutine waits
}

func (w *window) take(f *wire.Taken) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken = max(w.taken, f.Seq+1)
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// room waits until a part may be sent.
func (w *window) room(ctx context.Context, seq int) error {
	for {
		w.mu.Lock()
		if seq-w.taken < wire.PartsAhead {
			w.mu.Unlock()
			return ctx.Err()
		}
		if w.changed == nil {
			w.changed = make(chan struct{})
		}
		changed := w.changed
		w.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// aroundPart is what a part has around its data, at most, in bytes.
const aroundPart = 1024

// firstPart is how large the first part of a result's content is, in bytes. The others
// follow when it was taken: many results that wait hold little memory.
const firstPart = 4 << 10

// sendParts sends a content in parts, no faster than they are taken, until ctx
// ends or there is an error in reading it. Where first is not 0, the first part has so
// many bytes at most, and is taken before the next one is sent.
func (s *session) sendParts(ctx context.Context, call string, content io.Reader, w *window, first int) error {
	size := wire.PartBytes
	if limit := int(s.limit.Load()); limit > 0 {
		size = max(1, min(size, (limit-aroundPart)/4*3))
	}
	ahead := bufio.NewReaderSize(content, size)
	for seq := 0; ; seq++ {
		wanted, at := size, seq
		switch {
		case first > 0 && seq == 0:
			wanted = min(size, first)
		case first > 0 && seq == 1:
			at = wire.PartsAhead // there is room for it when all before it are taken
		}
		if err := w.room(ctx, at); err != nil {
			return err
		}
		data := make([]byte, wanted)
		n, err := io.ReadFull(ahead, data)
		if err == nil {
			_, err = ahead.Peek(1)
		}
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		if err := s.sendWhenRoom(ctx, &wire.Part{CallID: call, Seq: seq, Data: data[:n], Last: last}); err != nil || last {
			return err
		}
	}
}

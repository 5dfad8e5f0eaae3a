package nats

import (
	"fmt"
	"testing"
	"time"
)

// Pieces of an incomplete message are dropped after a time, or at once if there are too many.
func TestKeepPieces(t *testing.T) {
	begin := time.Now()
	o := &owned{pieces: map[string]pieces{}}
	for i := range backlog + 1 {
		o.keep(fmt.Sprint(i), []byte("a"), begin.Add(time.Duration(i)))
	}
	if _, first := o.pieces["0"]; first || len(o.pieces) != backlog {
		t.Errorf("%d are kept, the oldest: %v", len(o.pieces), first)
	}
	later := begin.Add(capacityTime + time.Second)
	o.keep("1", []byte("b"), later)
	o.keep("new", []byte("a"), later)
	if len(o.pieces) != 2 || string(o.pieces["1"].body) != "ab" {
		t.Errorf("%d are kept, one of them %q", len(o.pieces), o.pieces["1"].body)
	}
}

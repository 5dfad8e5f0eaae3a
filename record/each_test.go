package record_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
)

// Each passes each request once and in order, also where more of them than one part has are of the same time.
func TestEach(t *testing.T) {
	var s recordtest.Memory
	var b record.Batch
	for i := range 12_345 {
		at := time.Unix(int64(i), 0)
		if i > 2000 && i < 9000 {
			at = time.Unix(2000, 0)
		}
		b.Requests = append(b.Requests, record.Request{ID: fmt.Sprint(i), Time: at, Conversation: "c"})
	}
	if err := s.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for _, from := range []int{0, 1990} {
		next := from
		err := record.Each(t.Context(), &s, record.Query{From: time.Unix(int64(from), 0)}, func(r *record.Request) {
			if r.ID != fmt.Sprint(next) {
				t.Fatalf("%s, want %d", r.ID, next)
			}
			next++
		})
		if err != nil || next != 12_345 {
			t.Errorf("from %d: %d, %v", from, next, err)
		}
	}
}

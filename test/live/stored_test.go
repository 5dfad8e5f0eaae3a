package live

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/trim"
)

// counted is a store that counts what is stored of how requests were sent.
type counted struct {
	recordtest.Memory
	mu     sync.Mutex
	edits  map[uint64]int     // by form: the bytes of its edits
	places map[[2]uint64]bool // by place and key
}

// Append implements record.Store.
func (c *counted) Append(ctx context.Context, b record.Batch) error {
	c.mu.Lock()
	for _, f := range b.Forms {
		c.edits[f.ID] = len(f.Edits)
	}
	for _, p := range b.Places {
		c.places[[2]uint64{p.Place, p.Key}] = true
	}
	c.mu.Unlock()
	return c.Memory.Append(ctx, b)
}

// Columns of the two tables, of 8 bytes each, without the edits.
const (
	formBytes  = 2 * 8
	placeBytes = 6 * 8
)

// WIRE-2: what is stored of how recorded sessions were sent takes at most 2 KB a request. The test logs how much it is.
func TestStoredBytes(t *testing.T) {
	policies := []trim.Policy{trim.Adaptive}
	if *all {
		policies = append(policies, trim.Lossless, trim.Bold)
	}
	for _, policy := range policies {
		sent, forms, edits, places := 0, 0, 0, 0
		for _, s := range recorded(t) {
			asked := requests(s)
			store := &counted{edits: map[uint64]int{}, places: map[[2]uint64]bool{}}
			synctest.Test(t, func(t *testing.T) {
				by(t, newUpstream(s), proxy.Config{History: trim.Config{Policy: policy, Root: s.Dir}, Store: store}, asked)
			})
			for _, n := range store.edits {
				edits += n
			}
			sent, forms, places = sent+len(asked), forms+len(store.edits), places+len(store.places)
		}
		each := float64(edits+forms*formBytes+places*placeBytes) / float64(max(1, sent))
		t.Logf("%s: %d requests, %d forms with %d bytes of edits, %d places: %.0f bytes a request", policy, sent, forms, edits, places, each)
		if each > 2<<10 {
			t.Errorf("%s: %.0f bytes a request", policy, each)
		}
	}
}

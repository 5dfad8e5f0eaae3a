package agent

// backoff keeps a conversation from being compacted again and again without
// effect. It is guarded by Conversation.turn.
type backoff struct {
	failures int // in a row
	until    int // the prompt size from which on compaction is tried again; 0: now
	narrow   int // a limit below the model's window, learned from a request that was too long; 0: none
	refused  int // requests in a row that the model called too long
}

// After two failures, or a compaction without effect, the conversation must grow by
// this share of the window before the next attempt.
const growth = 10 // a tenth

// free reports whether a prompt of this size may be compacted now.
func (b *backoff) free(size int) bool { return size >= b.until }

// failed notes that a prompt of this size could not be compacted.
func (b *backoff) failed(size, window int) {
	if b.failures++; b.failures >= 2 {
		b.until = size + window/growth
	}
}

// compacted notes that a conversation was compacted to this size. If that is
// still past the limit, another compaction would not help now.
func (b *backoff) compacted(size, limit, window int) {
	b.failures, b.until = 0, 0
	if size >= limit {
		b.until = size + window/growth
	}
}

// reset allows the next compaction. It is called when a person asks for one.
func (b *backoff) reset() { b.failures, b.until = 0, 0 }

// narrowed returns the limit, or the smaller one that was learned from the model.
func (r *run) narrowed(limit int) int {
	if r.backoff.narrow == 0 {
		return limit
	}
	return min(limit, r.backoff.narrow)
}

// narrow notes that the model refused a request of this size as too long. It
// reports whether a shorter request should be tried.
func (r *run) narrow(b built) bool {
	if r.backoff.refused++; r.backoff.refused > 3 {
		return false
	}
	r.backoff.narrow = b.size * 3 / 4
	return r.backoff.narrow > 0
}

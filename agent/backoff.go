package agent

// backoff prevents repeated compactions without effect. It is guarded by Conversation.turn.
type backoff struct {
	failures int // failed compactions in a row
	until    int // prompt size from which on compaction is tried again; 0: any size
	narrow   int // size limit below the model's window, learned from a request that was too long; 0: none
	refused  int // requests in a row that the model refused as too long
}

// growth is a divisor of the window. After two failures, or a compaction without effect, the conversation must grow by this
// part of the window before the next attempt.
const growth = 10 // a tenth

// free reports whether a prompt of this size may be compacted.
func (b *backoff) free(size int) bool { return size >= b.until }

// failed records that a prompt of this size could not be compacted.
func (b *backoff) failed(size, window int) {
	if b.failures++; b.failures >= 2 {
		b.until = size + window/growth
	}
}

// compacted records that a conversation was compacted to this size. If the size is still above the limit, another
// compaction would not help at once.
func (b *backoff) compacted(size, limit, window int) {
	b.failures, b.until = 0, 0
	if size >= limit {
		b.until = size + window/growth
	}
}

// reset allows the next compaction. It is called when a person asks for one.
func (b *backoff) reset() { b.failures, b.until = 0, 0 }

// narrowed returns the limit, or the limit that was learned from the model if that is smaller.
func (r *run) narrowed(limit int) int {
	if r.backoff.narrow == 0 {
		return limit
	}
	return min(limit, r.backoff.narrow)
}

// narrow records that the model refused a request of this size as too long. It reports whether to try a shorter request.
func (r *run) narrow(b built) bool {
	if r.backoff.refused++; r.backoff.refused > 3 {
		return false
	}
	r.backoff.narrow = b.size * 3 / 4
	return r.backoff.narrow > 0
}

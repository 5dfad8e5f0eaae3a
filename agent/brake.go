package agent

// brake keeps a conversation from being compacted again and again in vain. It
// is guarded by who has the turn.
type brake struct {
	failures int // in a row
	until    int // size of the prompt from which on it is tried again; 0: now
	narrow   int // the size at which the model said that it is too long; 0: it never did
	refused  int // requests in a row that were too long
}

// A conversation that could not be compacted twice, or that compacting did not
// help, must have grown by this share of the window before it is tried again.
const growth = 10 // a tenth

// free reports whether a prompt of this size may be compacted.
func (b *brake) free(size int) bool { return size >= b.until }

// failed notes that the model did not summarise a prompt of this size.
func (b *brake) failed(size, window int) {
	if b.failures++; b.failures >= 2 {
		b.until = size + window/growth
	}
}

// compacted notes that a conversation was compacted to this size. Where it is
// still past the limit, doing it again would not help either.
func (b *brake) compacted(size, limit, window int) {
	b.failures, b.until = 0, 0
	if size >= limit {
		b.until = size + window/growth
	}
}

// person: whoever asks for it is not held back.
func (b *brake) person() { b.failures, b.until = 0, 0 }

// narrowed is a limit, or less where the model has refused less than that.
func (r *run) narrowed(limit int) int {
	if r.brake.narrow == 0 {
		return limit
	}
	return min(limit, r.brake.narrow)
}

// narrow takes note that the model takes less than is believed of it, and
// reports whether the request can be made shorter.
func (r *run) narrow(b built) bool {
	if r.brake.refused++; r.brake.refused > 3 {
		return false
	}
	r.brake.narrow = b.size * 3 / 4
	return r.brake.narrow > 0
}

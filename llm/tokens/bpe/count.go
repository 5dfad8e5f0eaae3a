package bpe

// batch is how many pieces are looked up at a time, so that memory waits overlap.
const batch = 32

// Count returns the number of tokens of text. Special tokens are counted as ordinary text. Bytes of invalid UTF-8 are counted as
// they are.
func (v *Vocabulary) Count(text string) int {
	if text == "" {
		return 0
	}
	v.once.Do(v.load)
	m, ok := v.mergers.Get().(*merger)
	if !ok {
		m = new(merger)
	}
	n := v.count(m, text)
	v.mergers.Put(m)
	return n
}

func (v *Vocabulary) count(m *merger, text string) int {
	var ends [batch]int
	var keys [batch]key // of short pieces
	count := 0
	for from := 0; from < len(text); {
		n := 0
		for i := from; n < batch && i < len(text); n++ {
			end := v.split(v.classes, text, i)
			keys[n] = key{}
			if size := end - i; size <= shortMax {
				lo, hi := window(text, i)
				keys[n] = keyOf(lo, hi, size)
			}
			ends[n] = end
			i = end
		}
		for k, end := range ends[:n] {
			if v.has(keys[k], text[from:end]) {
				count++
			} else {
				count += v.countMerged(m, keys[k], text, from, end)
			}
			from = end
		}
	}
	return count
}

// has reports whether piece is a token. k is its key if it is short.
func (v *Vocabulary) has(k key, piece string) (ok bool) {
	if k.hi != 0 {
		_, ok = v.short.find(k)
	} else {
		_, ok = v.long.find(piece)
	}
	return ok
}

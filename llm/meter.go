package llm

import (
	"io"
	"slices"
)

// Meter reads the usage in a response from its bytes. It uses bounded memory. Write accepts all bytes and returns no error: bytes
// that it cannot read are ignored. A Meter may be used by one goroutine at a time.
type Meter interface {
	io.Writer
	// Reading returns what the bytes so far say. So it is also valid for a stream that was cut off.
	Reading() Reading
	// Signatures returns the signatures of thinking blocks, and the data of redacted ones, received since the last call.
	Signatures() []string
}

// Reading is what a Meter has read.
type Reading struct {
	Usage             Usage
	Counted           bool     // usage was received
	Model, StopReason string   // the model that answered, and the provider's word; empty: not known
	Missed            string   // the provider's reason for missing the prompt cache; empty: not known
	Unknown           []string // names of what the provider counted and this program does not know; a few at most

	Dropped int // blocks of thinking in the request that the provider dropped, because they do not belong to the content before them
	Cleared int // calls whose results the provider cleared
}

// Count adds a usage object to r: what it counts, if it counts, and the names in it that are not known.
func (r *Reading) Count(u Usage, counts bool, unknown []string) {
	if counts {
		r.Usage, r.Counted = u, true
	}
	for _, name := range unknown {
		if !slices.Contains(r.Unknown, name) && len(r.Unknown) < 8 {
			r.Unknown = append(r.Unknown, name)
		}
	}
}

// TapMeter is a Meter. Tap splits the written bytes into documents, and passes them to the code that updates Read and Signed.
type TapMeter struct {
	Tap interface {
		io.Writer
		Flush() // passes on the last document, if it can be read without its end
	}
	Read   Reading
	Signed []string
}

// Write implements Meter.
func (m *TapMeter) Write(p []byte) (int, error) { return m.Tap.Write(p) }

// Reading implements Meter.
func (m *TapMeter) Reading() Reading {
	m.Tap.Flush()
	return m.Read
}

// Signatures implements Meter.
func (m *TapMeter) Signatures() []string {
	m.Tap.Flush()
	out := m.Signed
	m.Signed = nil
	return out
}

package llm

import (
	"io"
	"slices"
)

// Meter reads the usage in a response from its bytes. It uses bounded memory. Write accepts all bytes and returns no error: bytes
// that it cannot read are ignored. The results cover the bytes written so far, so they are also valid for a stream that was cut
// off. A Meter may be used by one goroutine at a time.
type Meter interface {
	io.Writer
	Usage() (Usage, bool) // false: none was received so far
	Model() string        // the model that answered; empty: not known
	StopReason() string   // the provider's word; empty: not known
	Missed() string       // the provider's reason for missing the prompt cache; empty: not known
	Unknown() []string    // names of what the provider counted and this program does not know; a few at most
}

// Reading holds the results of a Meter.
type Reading struct {
	Usage             Usage
	Counted           bool // usage was received
	Model, StopReason string
	Missed            string   // the reason for missing the prompt cache
	Unknown           []string // names of usage that the codec does not know: see Meter
}

// Also returns names with those of more that are not in it.
func Also(names, more []string) []string {
	for _, name := range more {
		if !slices.Contains(names, name) && len(names) < 8 {
			names = append(names, name)
		}
	}
	return names
}

// TapMeter is the part of a Meter that does not depend on the API. Tap splits the written bytes into documents, and passes them to
// the code that updates Reading.
type TapMeter struct {
	Tap interface {
		io.Writer
		Flush() // passes on the last document, if it can be read without its end
	}
	Reading Reading
}

// Write implements Meter.
func (m *TapMeter) Write(p []byte) (int, error) { return m.Tap.Write(p) }

// Usage implements Meter.
func (m *TapMeter) Usage() (Usage, bool) {
	m.Tap.Flush()
	return m.Reading.Usage, m.Reading.Counted
}

// Model implements Meter.
func (m *TapMeter) Model() string {
	m.Tap.Flush()
	return m.Reading.Model
}

// StopReason implements Meter.
func (m *TapMeter) StopReason() string {
	m.Tap.Flush()
	return m.Reading.StopReason
}

// Missed implements Meter.
func (m *TapMeter) Missed() string {
	m.Tap.Flush()
	return m.Reading.Missed
}

// Unknown implements Meter.
func (m *TapMeter) Unknown() []string {
	m.Tap.Flush()
	return m.Reading.Unknown
}

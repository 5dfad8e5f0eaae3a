package llm

import "io"

// Meter reads the usage out of a response as its bytes pass by. It holds a
// bounded amount of memory, and Write always takes all bytes and returns no
// error: what the meter does not understand it ignores. The results are
// those of the bytes written so far, so a stream that was cut has what it said
// until then. A Meter is for one goroutine at a time.
type Meter interface {
	io.Writer
	Usage() (Usage, bool) // false: none was said so far
	Model() string        // the model that answered, empty if not said
	StopReason() string   // as the provider says it, empty if not said
	Missed() string       // why the prompt cache was missed, as the provider says it; empty if not said
}

// Reading is what a Meter shows.
type Reading struct {
	Usage             Usage
	Counted           bool // usage was said
	Model, StopReason string
	Missed            string // why the prompt cache was missed
}

// TapMeter is the part of a Meter that does not depend on the API. Tap splits the written bytes into documents, and passes them to
// the code that updates Reading.
type TapMeter struct {
	Tap interface {
		io.Writer
		Flush() // hands over the document that has no end yet, if it can be read so
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

package record

import "time"

// outage is a run of failures. It says when one of them should be reported: the
// first, and then at intervals that grow from a minute to an hour.
type outage struct {
	err      error // of the newest failure; nil: there is no outage
	failures int
	began    time.Time
	interval time.Duration
	report   time.Time // when the next report is due
}

// report is what there is to say about an outage.
type report struct {
	failures int
	after    time.Duration // since the first
}

const (
	firstInterval = time.Minute
	lastInterval  = time.Hour
)

// next takes what the newest try came to. It returns nil where that is not to be
// reported.
func (o *outage) next(err error, now time.Time) *report {
	if err == nil && o.err == nil {
		return nil
	}
	if o.err == nil {
		*o = outage{began: now, interval: firstInterval, report: now}
	}
	o.err = err
	r := &report{after: now.Sub(o.began).Round(time.Millisecond)}
	if err == nil {
		r.failures = o.failures
		*o = outage{}
		return r
	}
	o.failures++
	if now.Before(o.report) {
		return nil
	}
	r.failures = o.failures
	o.report = now.Add(o.interval)
	o.interval = min(2*o.interval, lastInterval)
	return r
}

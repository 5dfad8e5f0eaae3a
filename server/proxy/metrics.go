package proxy

import (
	"errors"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stet-dev/stet/record"
)

// metrics holds the metrics served at /metrics.
type metrics struct {
	requests *prometheus.CounterVec   // api, status
	bytes    *prometheus.CounterVec   // api, side: client, upstream
	tokens   *prometheus.CounterVec   // api, side: off, sent
	usage    *prometheus.CounterVec   // api, kind
	trims    *prometheus.CounterVec   // reason
	passed   *prometheus.CounterVec   // cause
	dangling prometheus.Counter       //
	cut      *prometheus.CounterVec   // api
	added    *prometheus.HistogramVec // api
	lost     prometheus.Counter       //
	refused  *prometheus.CounterVec   // form
	dropped  prometheus.Counter       //
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "stet_" + name, Help: help}, labels)
	}
	m := &metrics{
		requests: counter("requests_total", "Requests by API and status; status 0: the client went away before.", "api", "status"),
		bytes:    counter("request_bytes_total", "Bytes of request bodies, as clients sent them and as they went upstream.", "api", "side"),
		tokens:   counter("prompt_tokens_total", "Estimated tokens of prompts, as clients sent them (off) and as planned (sent).", "api", "side"),
		usage:    counter("usage_tokens_total", "Tokens as the providers reported them.", "api", "kind"),
		trims:    counter("trims_total", "Results that were shortened in requests, by reason.", "reason"),
		passed:   counter("passthroughs_total", "Requests that went untouched because of a doubt, by cause.", "cause"),
		dangling: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "stet_dangling_total", Help: "Lines left in place of content that is nowhere in their request.",
		}),
		cut: counter("cut_total", "Answers that broke off.", "api"),
		added: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "stet_added_seconds", Help: "Time that stet took before the request went upstream.",
			Buckets: prometheus.ExponentialBuckets(0.00005, 4, 9),
		}, []string{"api"}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "stet_records_lost_total", Help: "Rows that could not be recorded.",
		}),
		refused: counter("bound_refusals_total", "Requests that the provider refused because of what stands before thinking, by the form in which it took them then.", "form"),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "stet_thinking_dropped_total", Help: "Blocks of thinking that the provider dropped because of what stands before them.",
		}),
	}
	var errs []error
	for _, c := range []prometheus.Collector{
		m.requests, m.bytes, m.tokens, m.usage, m.trims, m.passed, m.dangling, m.cut, m.added, m.lost, m.refused, m.dropped,
	} {
		errs = append(errs, r.Register(c))
	}
	return m, errors.Join(errs...)
}

func (m *metrics) request(api string, status int) {
	m.requests.WithLabelValues(api, strconv.Itoa(status)).Inc()
}

// account counts a request that has a row.
func (m *metrics) account(r *record.Request, trims []record.Trim) {
	m.request(r.API, r.Status)
	m.bytes.WithLabelValues(r.API, "client").Add(float64(r.BytesIn))
	m.bytes.WithLabelValues(r.API, "upstream").Add(float64(r.BytesOut))
	m.tokens.WithLabelValues(r.API, "off").Add(float64(r.TokensOff))
	m.tokens.WithLabelValues(r.API, "sent").Add(float64(r.Tokens))
	for _, u := range []struct {
		kind string
		n    int
	}{
		{"input", r.Usage.Input}, {"cache_read", r.Usage.CacheRead}, {"cache_write", r.Usage.CacheWrite},
		{"output", r.Usage.Output}, {"reasoning", r.Usage.Reasoning},
	} {
		m.usage.WithLabelValues(r.API, u.kind).Add(float64(max(u.n, 0)))
	}
	for _, t := range trims {
		m.trims.WithLabelValues(t.Reason).Inc()
	}
	m.dangling.Add(float64(r.Dangling))
	if r.Cut {
		m.cut.WithLabelValues(r.API).Inc()
	}
	m.added.WithLabelValues(r.API).Observe(r.Added.Seconds())
}

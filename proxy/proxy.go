package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"path"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/internal/cachestate"
	"github.com/stet-dev/stet/internal/continuation"
	"github.com/stet-dev/stet/internal/repeats"
	"github.com/stet-dev/stet/internal/sentform"
	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/record"
)

// Config sets a [Proxy] up. The zero value is the default.
type Config struct {
	Upstreams Upstreams
	// Agents returns the upstreams of requests whose path begins with /stet/NAME, for agents that have upstreams of their own. Its
	// error refuses such a request; it does not go to Upstreams. nil: no path is special.
	Agents func(name string) (Upstreams, error)

	// History says what is left out. If its Root is empty, the workspace is
	// learned from what the agent says in each conversation; if its Window or
	// its Price is zero, it is each model's own.
	History history.Config
	// Prices are the models' windows and prices; nil: those that stet knows. It
	// must not be changed any more.
	Prices *prices.Catalog
	// Observe forwards every request as it is, and only reports what would
	// have been left out.
	Observe bool

	// RefuseThreads answers a request that goes on with a message thread as a server does that
	// keeps none: the client then sends its whole conversation with every request. Otherwise threads are followed.
	RefuseThreads bool

	// TryBound says that at a cold point something may change before thinking that the provider checks: some accounts let
	// that pass. Where the provider refuses it, the request goes at once as it would have gone otherwise, and nothing more
	// is tried with that account.
	TryBound bool

	// KeepResults says that the provider is not asked to clear old results of tools (history.Config.Clears).
	KeepResults bool

	// DropTools are patterns (path.Match) of names of tools that are not offered to the model. It holds for conversations that begin from now on, and
	// needs a Store.
	DropTools []string

	// Folds keeps what leaves a long output when it is sent first (history.Config.Fold), so that the agent can ask for it; nil: such
	// outputs are sent whole.
	Folds Folds

	// Memory is how many bytes may be held of the newest requests. Of a request that goes on
	// from one of these, only the new part is read, hashed and planned. Half as many may be held
	// besides of conversations that the provider keeps too. 0 is 64 MB; negative: none are held.
	Memory int64

	// MaxBody is the size in bytes up to which a request is read; larger ones
	// are streamed through. 0 is 64 MB.
	MaxBody int64
	// AllowedHosts are names that a request's Host may have besides the
	// loopback's, with a port or without.
	AllowedHosts []string

	Store     record.Store         // where requests are recorded; nil: nowhere. Close does not close it
	Keep      Keep                 // how much is recorded
	Logger    *slog.Logger         // nil discards
	Metrics   *prometheus.Registry // nil is one of the proxy's own, with the process's goroutines and memory
	Transport http.RoundTripper    // to the upstreams; nil is one of the proxy's own. It must not decompress
}

// Folds keeps the texts of outputs that are folded.
type Folds interface {
	// Keep keeps a text, whose id is history.FoldID of it. It is called with the same text at every request that has it.
	Keep(id, text string) error
}

// Proxy forwards requests. Its methods may be called concurrently.
type Proxy struct {
	config        Config
	endpoints     endpoints
	forwarder     *httputil.ReverseProxy
	policy        history.Policy
	rules         *rules
	engines       *engines
	counters      counters
	conversations *conversations
	cache         *cachestate.State
	recall        *recall
	forms         *sentform.Memory // how bound conversations were sent
	accounts      accounts         // that refuse what TryBound tries
	tools         toolPatterns     // which tools conversations leave out
	unchanged     bool             // nothing is ever changed in a body
	recent        *recent
	continued     *continuation.Store // conversations that the provider keeps too
	writer        *writer
	metrics       *metrics
	buffers       buffers
	budget        bodyBudget
	gather        http.Handler
	log           *slog.Logger
	folding       repeats.Filter // of the folds that cannot be kept
	untouched     sync.Once      // the log says that requests to Bedrock are

	base   context.Context // ends when Close gives up waiting
	cancel context.CancelFunc
	ending context.Context // ends when Close begins
	end    context.CancelFunc

	mu      sync.Mutex
	closing bool
	work    sync.WaitGroup // requests, and what goes on beside them
	close   sync.Once
	closed  chan struct{}
}

// New returns a proxy. An invalid upstream or history configuration is an
// error.
func New(c Config) (*Proxy, error) {
	if c.MaxBody == 0 {
		c.MaxBody = 64 << 20
	}
	if c.Memory == 0 {
		c.Memory = defaultMemory
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
		c.Metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})) // it is empty
	}
	if c.Transport == nil {
		c.Transport = newTransport()
	}
	if c.History.Logger == nil {
		c.History.Logger = c.Logger
		if c.Observe {
			c.History.Logger = c.Logger.With("observe", true)
		}
	}
	targets, err := c.Upstreams.endpoints()
	if err != nil {
		return nil, err
	}
	c.History.Fold = c.Folds != nil
	c.History.InPlace = true // only what stands in the body as one string can be replaced there
	engine, err := history.New(c.History)
	if err != nil {
		return nil, err
	}
	known := &rules{catalog: c.Prices}
	p := &Proxy{
		config: c, endpoints: targets, policy: engine.Policy(), rules: known, engines: &engines{config: c.History, rules: known},
		conversations: newConversations(maxConversations), log: c.Logger, gather: promhttp.HandlerFor(c.Metrics, promhttp.HandlerOpts{}), closed: make(chan struct{}),
	}
	if p.metrics, err = newMetrics(c.Metrics); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	p.budget = newBodyBudget(c.MaxBody)
	p.recent = &recent{max: c.Memory, pool: &p.buffers}
	p.continued = continuation.New(c.Memory / 2)
	p.unchanged = c.Observe || p.policy == history.Off || p.policy == history.Finish
	p.cache = cachestate.New(cachestate.Config{
		Evicts: evicts(p.policy), Unchanged: p.unchanged, Checks: func(api, model string) bool { return known.of(api, model).checks },
	})
	if p.tools.store = c.Store; !p.unchanged {
		p.tools.now = c.DropTools
	}
	if len(c.DropTools) > 0 && c.Store == nil {
		c.Logger.Warn("no tools are left out: nothing is recorded")
	}
	for _, pattern := range c.DropTools {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("pattern of tools %q: %w", pattern, err)
		}
	}
	p.forms, p.accounts.store = sentform.NewMemory(c.Store), c.Store
	p.recall = &recall{state: p.cache, store: c.Store, log: c.Logger}
	p.base, p.cancel = context.WithCancel(context.Background())
	p.ending, p.end = context.WithCancel(p.base)
	p.forwarder = p.newForwarder()
	p.work.Add(1)
	go func() {
		defer p.work.Done()
		p.recall.begin() // before a request waits for it
	}()
	p.writer = newWriter(c.Store, c.Keep, c.Logger, p.metrics)
	return p, nil
}

// newTransport returns a transport that waits as long as a model thinks, and
// leaves bodies as they are.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
	}
}

// Totals returns sums over all requests since the start; those in flight are
// not in them yet. What is returned is the caller's.
func (p *Proxy) Totals() Totals { return p.conversations.sums() }

// Close ends the proxy. Requests that come after it are refused; it waits for
// those in flight and until all is recorded. When ctx ends first, the requests
// in flight are cut off, and the error says so; another Close waits on.
func (p *Proxy) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
	p.end()
	p.close.Do(func() {
		go func() {
			defer close(p.closed)
			p.work.Wait()
			p.writer.stop()
			p.cancel()
			if t, ok := p.config.Transport.(interface{ CloseIdleConnections() }); ok {
				t.CloseIdleConnections()
			}
		}()
	})
	select {
	case <-p.closed:
		return nil
	case <-ctx.Done():
		p.cancel()
		return fmt.Errorf("close proxy: requests are still in flight: %w", ctx.Err())
	}
}

// enter counts something as going on, unless the proxy is closing. The caller
// calls p.work.Done at its end.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closing {
		p.work.Add(1)
	}
	return !p.closing
}

// Ready says what keeps the proxy from working; nil when nothing does.
func (p *Proxy) Ready() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return errors.New("closing")
	}
	return p.writer.trouble()
}

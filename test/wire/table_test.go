package wire

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"

	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/trim"
)

// run is a session of a player, and the proxies between the player and the model.
type run struct {
	t       *testing.T
	model   *llmtest.Server
	policy  string // the value of --policy, and more flags
	home    string
	store   string     // the database of the proxies; empty: a file in home
	proxies []*process // the player uses one after another; empty: it uses the model directly
	asked   int
	players []*player
}

func (r *run) base() string {
	if len(r.proxies) == 0 {
		return r.model.URL
	}
	r.asked++
	return r.proxies[r.asked%len(r.proxies)].base
}

// again ends the proxies with a signal, and starts as many new ones. If policy is not empty, they use it. If there are no
// proxies, again does nothing.
func (r *run) again(signal syscall.Signal, policy string) {
	r.t.Helper()
	r.policy = cmp.Or(policy, r.policy)
	for i, p := range r.proxies {
		p.end(signal)
		r.proxies[i] = start(r.t, r.home, r.store, r.model.URL, r.policy)
	}
}

// condition is something that happens to a session. Its function is called before each turn of the first player.
type condition struct {
	name    string
	flags   string // of the proxies
	at      func(r *run, turn int)
	refused int // number of requests that the model may refuse without the player seeing it
	breaks  int // number of requests that may change what was sent before

	everyAPI bool // the condition is played with every API, also on a database
}

// conditions returns the conditions under which the proxy can know what it sent.
func conditions(policy trim.Policy) []condition {
	other := string(trim.Lossless)
	if policy == trim.Lossless {
		other = string(trim.Off)
	}
	return []condition{
		{name: "goes on", at: func(*run, int) {}},
		{name: "restart by TERM", at: func(r *run, turn int) {
			if turn%4 == 3 {
				r.again(syscall.SIGTERM, "")
			}
		}},
		{name: "restart by KILL", at: func(r *run, turn int) {
			if turn%4 == 3 {
				r.again(syscall.SIGKILL, "")
			}
		}},
		{name: "two proxies", at: func(r *run, turn int) {
			if turn == 1 && len(r.proxies) == 1 {
				r.proxies = append(r.proxies, start(r.t, r.home, r.store, r.model.URL, r.policy))
			}
		}},
		{name: "a fork", at: func(r *run, turn int) {
			if turn == 4 || turn == 9 {
				r.players = append(r.players, r.players[0].fork())
			}
		}},
		{name: "policy changed", at: func(r *run, turn int) {
			switch turn {
			case 5:
				r.again(syscall.SIGTERM, other)
			case 9:
				r.again(syscall.SIGTERM, string(policy))
			}
		}},
		{name: "policy finish", at: func(r *run, turn int) {
			if turn == 6 {
				r.again(syscall.SIGTERM, string(trim.Finish))
			}
		}},
		{name: "observe", at: func(r *run, turn int) {
			if turn == 6 {
				r.again(syscall.SIGTERM, string(policy)+" --observe")
			}
		}},
	}
}

// upheavals returns the conditions under which the proxy has lost what it sent, or never knew it.
func upheavals(trim.Policy) []condition {
	var absent []*process
	return []condition{
		{name: "lost store", at: func(r *run, turn int) {
			if turn == 6 {
				r.home = r.t.TempDir()
				r.again(syscall.SIGTERM, "")
			}
		}, refused: 2, breaks: 2},
		{name: "stet joins", at: func(r *run, turn int) {
			switch turn {
			case 0:
				absent, r.proxies = r.proxies, nil
			case 6:
				r.proxies = absent
			}
		}, refused: 2, breaks: 2},
	}
}

// result is a row of the table.
type result struct {
	turns   int
	errors  []error // the errors that the player saw
	refused int     // number of errors that the model answered, including those that the player did not see
	files   string
	sent    int // bytes of the requests for answers
	breaks  int // number of requests that change what was sent before
}

// breaks counts the requests that do not begin with the messages of an earlier request.
func breaks(requests []llmtest.Request) (n int) {
	var sent [][]string // the messages of each request
	for _, r := range requests {
		if r.Wire == "" || r.Decoded == nil {
			continue
		}
		var now []string
		for _, m := range r.Decoded.Messages {
			text := string(m.Role)
			for _, p := range m.Parts {
				text += fmt.Sprintf("%q", []string{p.Text, p.CallID, p.Name, p.Args})
			}
			now = append(now, text)
		}
		goesOn := func(before []string) bool {
			const more = 3 // an answer, its results and a prompt
			return len(now)-len(before) <= more && len(before) <= len(now) && slices.Equal(before, now[:len(before)])
		}
		if len(sent) > 0 && !slices.ContainsFunc(sent, goesOn) {
			n++
		}
		sent = append(sent, now)
	}
	return n
}

// play plays the session under a condition.
func play(t *testing.T, store string, api int, account strictmodel.Account, policy string, c condition) result {
	t.Helper()
	r := &run{t: t, model: model(t, account), policy: policy, home: t.TempDir(), store: store, players: []*player{newPlayer(api)}}
	if policy != "" {
		r.policy += " " + c.flags
		r.proxies = []*process{start(t, r.home, r.store, r.model.URL, r.policy)}
	}
	for _, prompt := range []string{"Look at beds.py.", "Look at it once more."} {
		for i := 0; i < len(r.players); i++ {
			p := r.players[i]
			p.say(prompt)
			for more := true; more; {
				if i == 0 {
					c.at(r, p.turns)
				}
				more = p.turn(t.Context(), r.base())
			}
		}
	}
	if store != "" {
		for _, p := range r.proxies {
			p.end(syscall.SIGTERM) // writes the rows that are not written yet
		}
		wantRecorded(t, store)
	}
	t.Cleanup(func() { // runs after the processes have ended
		if t.Failed() {
			for i, p := range r.proxies {
				t.Logf("proxy %d says:\n%s", i, p.said)
			}
		}
	})
	out := result{breaks: breaks(r.model.Requests())}
	for _, p := range r.players {
		out.turns += p.turns
		out.errors = append(out.errors, p.errors...)
		for _, name := range slices.Sorted(maps.Keys(p.files)) {
			out.files += name + "\n" + p.files[name]
		}
	}
	for _, request := range r.model.Requests() {
		if request.Wire != "" {
			out.sent += len(request.Body)
		}
		if request.Status >= http.StatusBadRequest {
			out.refused++
		}
	}
	return out
}

// WIRE-1, WIRE-2: under each condition the model refuses nothing that it would not refuse without stet, on every kind of account
// and under every policy.
func TestTable(t *testing.T) { table(t, conditions, nil) }

// WIRE-1, WIRE-2: the same, with proxies that keep their records in PostgreSQL.
func TestTableOnPostgres(t *testing.T) { table(t, conditions, server.Database) }

// The same, with proxies that do not know what was sent.
func TestTableOfUpheavals(t *testing.T) { table(t, upheavals, nil) }

// wantRecorded checks that the proxies have kept their records in the database.
func wantRecorded(t *testing.T, where string) {
	t.Helper()
	s, err := store.Open(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if requests, err := s.Requests(t.Context(), record.Query{}); err != nil || len(requests) == 0 {
		t.Errorf("%d requests are recorded, %v", len(requests), err)
	}
}

// table plays a session under each condition. database makes a database for the proxies of a row; if it is nil, they use a file.
// With a database there are fewer rows: one kind of account, two policies, and for most conditions one API.
func table(t *testing.T, conditions func(trim.Policy) []condition, database func(testing.TB) string) {
	var mu sync.Mutex
	rows := map[string]string{}
	t.Run("rows", func(t *testing.T) {
		for api := range apis {
			accounts := []strictmodel.Account{strictmodel.NewAccount, strictmodel.OldAccount}
			if apis[api].Name != "messages" {
				accounts = accounts[:1] // the accounts differ only in a check of the Messages API
			}
			if database != nil {
				accounts = accounts[:1]
			}
			for _, account := range accounts {
				for n, policy := range trim.Policies() {
					for k, c := range conditions(policy) {
						if apis[api].Name != "messages" && (k > 0 || database != nil) && policy != trim.Adaptive {
							continue
						}
						if database != nil && (apis[api].Name != "messages" && !c.everyAPI || policy != trim.Adaptive && policy != trim.Bold) {
							continue
						}
						t.Run(fmt.Sprintf("%s/%s/%s/%s", apis[api].Name, account, policy, c.name), func(t *testing.T) {
							t.Parallel()
							where := ""
							if database != nil {
								where = database(t)
							}
							straight, with := play(t, "", api, account, "", c), play(t, where, api, account, string(policy), c)
							for _, err := range append(straight.errors, with.errors...) {
								t.Error(err)
							}
							if straight.turns != with.turns || straight.files != with.files {
								t.Errorf("%d turns, without stet %d; the same files: %v", with.turns, straight.turns, straight.files == with.files)
							}
							rewrites := policy == trim.KeepLatest && apis[api].Name != "messages" // keep-latest changes what was sent before
							if with.breaks > straight.breaks+c.breaks && !rewrites {
								t.Errorf("%d requests do not go on from one before, without stet %d", with.breaks, straight.breaks)
							}
							if with.refused > c.refused || account == strictmodel.OldAccount && with.refused > 0 {
								t.Errorf("%d requests were refused", with.refused)
							}
							mu.Lock()
							defer mu.Unlock()
							rows[fmt.Sprint(api, account, n, k)] = fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%v\t%d\t%d\t%d\t%.0f %%\n", apis[api].Name, account, policy, c.name,
								with.turns, straight.files == with.files, len(with.errors), with.refused, with.breaks, 100*(1-float64(with.sent)/float64(straight.sent)))
						})
					}
				}
			}
		}
	})
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "API\taccount\tpolicy\tcondition\tturns\tsame files\terrors\trefused\tbreaks\tsaved\n")
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprint(w, rows[key])
	}
	_ = w.Flush() // a write to memory does not fail
	t.Log("\n" + b.String())
}

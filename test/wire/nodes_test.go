package wire

import (
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/stet-dev/stet/trim"
)

// nodes are several "stet serve" with one database. Each has its own home directory.
type nodes struct {
	run  *run
	home []string
	lock *pgx.Conn // holds the locks of the tables; nil: there are none
}

// more starts a node.
func (n *nodes) more() {
	n.run.t.Helper()
	n.home = append(n.home, n.run.t.TempDir())
	n.run.proxies = append(n.run.proxies, n.start(len(n.home)-1))
}

func (n *nodes) start(i int) *process {
	n.run.t.Helper()
	p := startAs(n.run.t, serving, n.home[i], n.run.store, n.run.model.URL, n.run.policy, "serve", "--no-workspace")
	if n.run.players[0].api != 0 {
		p.base += "/v1" // the server says to add /v1 for these formats
	}
	return p
}

// hold locks tables of the database, so that the nodes wait as for a database that does not answer. It locks them in the order in
// which stet writes them.
func (n *nodes) hold() {
	n.run.t.Helper()
	ctx := n.run.t.Context()
	conn, err := pgx.Connect(ctx, n.run.store)
	if err == nil {
		_, err = conn.Exec(ctx, `BEGIN; LOCK TABLE requests, turns, sent_places IN ACCESS EXCLUSIVE MODE`)
	}
	if err != nil {
		n.run.t.Fatal(err)
	}
	n.lock = conn
}

func (n *nodes) release() {
	n.run.t.Helper()
	if err := n.lock.Close(n.run.t.Context()); err != nil {
		n.run.t.Error(err)
	}
}

// moves returns the conditions under which each turn of a conversation goes to another node.
func moves(trim.Policy) []condition {
	killed := func(n *nodes, turn int) {
		if at := turn / 2 % len(n.run.proxies); turn%2 == 1 {
			n.run.proxies[at].end(syscall.SIGKILL)
			n.run.proxies[at] = n.start(at)
		}
	}
	held := func(n *nodes, turn int) {
		switch turn {
		case 5:
			n.hold()
		case 8:
			n.release()
		}
	}
	var all []condition
	add := func(c condition, another bool, do ...func(*nodes, int)) {
		n := new(nodes)
		c.everyAPI = true
		c.at = func(r *run, turn int) {
			if another && turn == 11 { // this model's cache is cold, so old outputs leave if they may
				r.players[0].req.Model = map[string]string{"claude-opus-5-5": "claude-fable-5-1", "gpt-5.5": "gpt-5.4"}[r.players[0].req.Model]
			}
			if r.policy == "" {
				return // there is no proxy
			}
			if n.run == nil {
				n.run = r
				r.proxies[0].end(syscall.SIGTERM)
				r.proxies = nil
				for range 3 {
					n.more()
				}
			}
			for _, d := range do {
				d(n, turn)
			}
		}
		all = append(all, c)
	}
	add(condition{name: "another node"}, false)
	add(condition{name: "and killed"}, false, killed)
	add(condition{name: "and another model", breaks: 1}, true)
	add(condition{name: "and another model, killed", breaks: 1}, true, killed)
	// In the three turns without a database a node does not know how another one has sent the conversation, and after them the rows come late.
	// It plans the turns that it does not know by the same rules, so nothing is refused. One refusal is allowed, for a machine on which a
	// node answers the client a second before the row of the request is written (server/proxy, maxNow), though the database answers.
	add(condition{name: "and no database", refused: 1, breaks: 1}, false, held)
	return all
}

// WIRE-1, WIRE-2: the same, with three nodes. Each turn of a conversation goes to another one.
func TestTableOfNodes(t *testing.T) { table(t, moves, server.Database) }

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/internal/agentconfig"
	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
)

// doctorCommand is stet doctor.
type doctorCommand struct {
	command
	json   bool
	checks []check
}

// check is one thing that doctor looked at.
type check struct {
	Name  string `json:"check"`
	State string `json:"state"` // checkOK, checkWarning or checkProblem
	Found string `json:"found"`
	Do    string `json:"do,omitempty"` // what the person should do
}

const (
	checkOK      = "ok"
	checkWarning = "warning"
	checkProblem = "problem"
)

// checkTime is how long doctor waits for an answer.
const checkTime = 5 * time.Second

// recordedDays is how many days of the record doctor looks at.
const recordedDays = 7

func newDoctor(p *program) *cobra.Command {
	c := &doctorCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "doctor [flags]",
		Short: "Look whether everything works, and say what to do",
		Long: `Look at the installation, the configuration, the state directory, the agents on this
machine, the proxy, the way to the providers, and what the proxy has recorded in the
last days. Each line says what was found, and what to do where something is wrong. Nothing is
changed, and the providers are asked nothing that needs a key.

The exit code is 1 if there is a problem; a warning is none.`,
		Example: `stet doctor
stet doctor --json`,
		Args: noArgs,
	}, &c.command, c.Run)
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *doctorCommand) Run(ctx context.Context) error {
	c.look(ctx)
	problems := 0
	for _, k := range c.checks {
		if k.State == checkProblem {
			problems++
		}
	}
	if c.json {
		if err := c.printJSON(struct {
			Checks []check `json:"checks"`
		}{c.checks}); err != nil {
			return err
		}
	} else {
		c.print(c.out)
	}
	if problems > 0 {
		return fmt.Errorf("%d of %d checks found a problem", problems, len(c.checks))
	}
	return nil
}

// look makes all checks.
func (c *doctorCommand) look(ctx context.Context) {
	c.thisProgram()
	o := c.configuration()
	c.stateDirectory()
	c.agents(ctx)
	if o != nil {
		c.proxy(ctx, o)
		c.providers(ctx, o)
		c.recorded(ctx, o)
	}
}

func (c *doctorCommand) print(w io.Writer) {
	for _, k := range c.checks {
		fmt.Fprintf(w, "%-8s %-13s %s\n", k.State, k.Name, k.Found)
		if k.Do != "" {
			fmt.Fprintf(w, "%22s %s\n", "->", k.Do)
		}
	}
}

func (c *doctorCommand) found(state, name, do, format string, args ...any) {
	c.checks = append(c.checks, check{Name: name, State: state, Found: fmt.Sprintf(format, args...), Do: do})
}

// thisProgram looks at this program, and at others of its name.
func (c *doctorCommand) thisProgram() {
	self, err := os.Executable()
	if err != nil {
		c.found(checkWarning, "program", "", "stet %s, at a path that is not known: %v", longVersion(), err)
		return
	}
	own, err := os.Stat(self)
	var others []string
	for _, dir := range filepath.SplitList(c.getenv("PATH")) {
		path := filepath.Join(dir, filepath.Base(self))
		if info, there := os.Stat(path); there == nil && err == nil && !os.SameFile(own, info) && !info.IsDir() {
			others = append(others, path)
		}
	}
	if len(others) > 0 {
		c.found(checkWarning, "program", "remove the one that you do not want: agents start stet by its name", "stet %s at %s, and another one at %s",
			longVersion(), self, strings.Join(others, ", "))
		return
	}
	c.found(checkOK, "program", "", "stet %s at %s", longVersion(), self)
}

// configuration reads the configuration; nil if it cannot be read.
func (c *doctorCommand) configuration() *config.Config {
	o, err := c.settings("")
	if err != nil {
		c.found(checkProblem, "configuration", "mend that: no command runs until then", "%v", err)
		return nil
	}
	var set []string
	for _, s := range o.Settings() {
		if s.From != config.FromDefault {
			set = append(set, s.Key+" ("+s.From+")")
		}
	}
	c.found(checkOK, "configuration", "", "policy %s; set: %s", o.Policy, cmp.Or(strings.Join(set, ", "), "nothing, all as delivered"))
	return o
}

// stateDirectory looks at where stet keeps what it knows.
func (c *doctorCommand) stateDirectory() {
	dir, err := c.stateDir()
	if err != nil {
		c.found(checkProblem, "state", "set HOME, or XDG_STATE_HOME", "%v", err)
		return
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.found(checkOK, "state", "", "%s is made when something is recorded first", dir)
	case err != nil:
		c.found(checkProblem, "state", "make it a directory that you can write to", "%v", err)
	case !info.IsDir():
		c.found(checkProblem, "state", "move that file away: it has to be a directory", "%s is a file", dir)
	case !writable(dir):
		c.found(checkProblem, "state", "make it yours, with chown and chmod u+rwx: nothing is recorded until then", "%s cannot be written to", dir)
	case info.Mode().Perm()&0o077 != 0 && hasModes:
		c.found(checkWarning, "state", "chmod 700 "+dir, "%s can be read by others", dir)
	default:
		const little = 200 << 20
		free, known := freeSpace(dir)
		if known && free < little {
			c.found(checkWarning, "state", "make room on that disk: what does not fit is not recorded, and sent texts cannot be kept", "%s has %d MB left on its disk", dir, free>>20)
			return
		}
		c.found(checkOK, "state", "", "%s", dir)
	}
}

// firstBytes keeps the beginning of what is written to it, and refuses the rest.
type firstBytes []byte

func (f *firstBytes) Write(b []byte) (int, error) {
	const most = 1000
	if len(*f)+len(b) > most {
		return 0, errors.New("enough")
	}
	*f = append(*f, b...)
	return len(b), nil
}

// versionNumber is what looks like a version.
var versionNumber = regexp.MustCompile(`\d+\.\d+[\w.+-]*`)

// versions asks programs for their versions, all at once. The result is in the order of paths, and empty where none was said.
func (c *doctorCommand) versions(ctx context.Context, paths []string) []string {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	found := make([]string, len(paths))
	var all sync.WaitGroup
	for i, path := range paths {
		if path == "" {
			continue
		}
		all.Go(func() {
			var said firstBytes
			cmd := exec.CommandContext(ctx, path, "--version")
			cmd.Env, cmd.Dir, cmd.Stdout, cmd.WaitDelay = c.environForOthers(), c.dir, &said, time.Second
			_ = cmd.Run() // what it said counts
			found[i] = string(versionNumber.Find(said))
		})
	}
	all.Wait()
	return found
}

// agents looks for agents, and how their requests go.
func (c *doctorCommand) agents(ctx context.Context) {
	lasting, err := c.lasting()
	if err != nil {
		c.found(checkProblem, "agents", "remove that file, and run \"stet setup --proxy\" again", "%v", err)
		return
	}
	m := c.machine()
	none := true
	names := agentconfig.Programs()
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i], _ = exec.LookPath(name) // empty where it is not on the PATH
	}
	versions := c.versions(ctx, paths)
	for i, name := range names {
		_, set := lasting[name]
		if paths[i] == "" && !set {
			continue
		}
		none = false
		where := cmp.Or(paths[i], "it is not on the PATH")
		if versions[i] != "" {
			where = versions[i] + " at " + where
		}
		changed, err := m.ProxyChanged(name, lasting)
		switch {
		case err != nil:
			c.found(checkProblem, name, "mend that file", "%v", err)
		case set && len(changed) > 0:
			c.found(checkWarning, name, fmt.Sprintf("run \"stet setup --proxy %s\" again, or with --remove", name),
				"%s; stet setup sent it through the proxy, and since then its %s was changed", where, strings.Join(changed, ", "))
		case set:
			c.found(checkOK, name, "", "%s; it goes through the proxy, always", where)
		default:
			do := ""
			if slices.Contains(agentconfig.ProxyAgents(), name) {
				do = fmt.Sprintf("\"stet setup --proxy %s\" sends it through the proxy for good", name)
			}
			c.found(checkOK, name, do, "%s; it goes through the proxy under \"stet wrap\" alone", where)
		}
	}
	if none {
		c.found(checkWarning, "agents", "install one, or put it on the PATH", "none that stet knows is on the PATH: %s", strings.Join(agentconfig.Programs(), ", "))
	}
}

// proxy looks at the service, and whether a proxy answers where agents are sent for good.
func (c *doctorCommand) proxy(ctx context.Context, o *config.Config) {
	s, err := c.service(o.Listen)
	if err != nil {
		c.found(checkProblem, "proxy", "", "%v", err)
		return
	}
	lasting, _ := c.lasting() // agents has said what is wrong with it
	at := cmp.Or(s.Address(), o.Listen)
	answering := answers(ctx, at)
	if answering {
		if err := ready(ctx, at); err != nil {
			c.found(checkProblem, "proxy", "look at its log, or start it again", "at http://%s it answers, and cannot work: %v", at, err)
			return
		}
		if status, _, err := get(ctx, "http://"+at+"/v1/models"); err != nil || status == http.StatusBadGateway || status == http.StatusGatewayTimeout {
			c.found(checkWarning, "proxy", "look at the network, and the keys upstream-… of the configuration", "at http://%s it answers, and where it asks no answer comes", at)
			return
		}
	}
	switch installed := s.Address() != ""; {
	case installed && s.Address() != s.Listen:
		c.found(checkWarning, "proxy", "\"stet service install\", and \"stet setup --proxy\" for each agent, move all to the new one",
			"the service is at %s, and the configuration says %s", s.Address(), s.Listen)
	case answering && installed:
		c.found(checkOK, "proxy", "", "the service answers at http://%s", at)
	case answering:
		c.found(checkOK, "proxy", "", "one answers at http://%s; no service starts it", at)
	case installed:
		c.found(checkProblem, "proxy", "\"stet service status\" says more; \"journalctl --user -u stet\" has its messages on Linux", "the service is installed, and does not answer at http://%s", at)
	case len(lasting) > 0:
		c.found(checkProblem, "proxy", "\"stet service install\", or start \"stet proxy\": until then these agents cannot ask their models",
			"none answers at http://%s, and %s asks there", at, strings.Join(lasting.Names(), ", "))
	default:
		c.found(checkOK, "proxy", "", "none runs, and none is needed: \"stet wrap\" starts its own")
	}
}

// ready says why a proxy at an address cannot work.
func ready(ctx context.Context, address string) error {
	status, text, err := get(ctx, "http://"+address+"/readyz")
	if err == nil && status != http.StatusOK {
		err = errors.New(strings.TrimSpace(text))
	}
	return err
}

// get asks for a page.
func get(ctx context.Context, url string) (status int, text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		for errors.Unwrap(err) != nil { // the URL and the address say nothing to a person
			err = errors.Unwrap(err)
		}
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1000))
	return resp.StatusCode, string(b), err
}

// providers asks each provider without a key: any answer shows that requests get there.
func (c *doctorCommand) providers(ctx context.Context, o *config.Config) {
	o.Route(config.Upstreams{})
	type asked struct {
		name, url string
		err       error
	}
	all := []*asked{
		{name: "messages", url: cmp.Or(o.Upstream.Messages, config.MessagesURL) + "/v1/models"},
		{name: "chat", url: cmp.Or(o.Upstream.Chat, config.OpenAIURL) + "/models"},
		{name: "responses", url: cmp.Or(o.Upstream.Responses, config.OpenAIURL) + "/models"},
		{name: "gemini", url: cmp.Or(o.Upstream.Gemini, config.GeminiURL) + "/v1beta/models"},
	}
	done := make(chan struct{})
	for _, a := range all {
		go func() {
			_, _, a.err = get(ctx, a.url)
			done <- struct{}{}
		}()
	}
	for range all {
		<-done
	}
	var reached, failed []string
	for _, a := range all {
		if a.err != nil {
			failed = append(failed, fmt.Sprintf("%s at %s: %v", a.name, hostOf(a.url), a.err))
		} else {
			reached = append(reached, a.name+" at "+hostOf(a.url))
		}
	}
	if len(failed) > 0 {
		c.found(checkWarning, "providers", "look at the network, HTTPS_PROXY, and the keys upstream-… of the configuration; what you do not use does not matter",
			"no answer from %s", strings.Join(failed, "; "))
		return
	}
	c.found(checkOK, "providers", "", "an answer from %s", strings.Join(reached, ", "))
}

func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	return u.Host
}

// recorded looks at what the proxy has recorded in the last days.
func (c *doctorCommand) recorded(ctx context.Context, o *config.Config) {
	if !o.Record {
		c.found(checkWarning, "record", "set record = true: \"stet savings\" and this check need it", "nothing is recorded (record = false)")
		return
	}
	where, err := c.storeThere()
	if errors.Is(err, fs.ErrNotExist) {
		c.found(checkOK, "record", "run an agent with \"stet wrap -- AGENT\"", "no request has come through yet")
		return
	}
	if err != nil {
		c.found(checkProblem, "database", "", "%v", err)
		return
	}
	requests, ok := c.database(ctx, where)
	if !ok {
		return
	}
	models, err := c.models(o.Prices)
	if err != nil {
		c.found(checkProblem, "record", "mend the file of prices", "%v", err)
		return
	}
	var f recordedFacts
	for i := range requests {
		f.add(&requests[i], models.ChecksThinking)
	}
	c.tellRecorded(&f)
}

// database looks at the store, and returns the requests of the last days; ok is false where it cannot be read.
func (c *doctorCommand) database(ctx context.Context, where string) (requests []record.Request, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	has, err := store.Inspect(ctx, where, record.Query{From: time.Now().AddDate(0, 0, -recordedDays)})
	copied := "no copy of an older version is beside it"
	if len(has.Copies) > 0 {
		copied = "docs/operations.md says how to go back to " + has.Copies[0]
	}
	if store.IsDatabase(where) {
		copied = "stet makes no copies of it"
	}
	name := store.Name(where)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		c.found(checkWarning, "database", "try again while less is going on", "%s: reading it takes longer than %s", name, checkTime)
	case err != nil:
		c.found(checkProblem, "database", "see docs/operations.md; sessions go on without the record", "%v", err)
	case has.Schema > has.Newest:
		c.found(checkProblem, "database", "install that version again, or go back: "+copied,
			"%s has schema %d, of a newer stet; this one knows %d", name, has.Schema, has.Newest)
	case has.Schema < has.Newest:
		c.found(checkOK, "database", "", "%s has schema %d, and is brought to %d with the next command that uses it; what is recorded shows after that",
			name, has.Schema, has.Newest)
	default:
		size := ""
		if info, err := os.Stat(where); err == nil {
			size = fmt.Sprintf(", %.1f MB", float64(info.Size())/1e6)
		}
		c.found(checkOK, "database", "", "%s has schema %d%s, %d requests, %d sessions, %d entries in the audit trail; %s",
			name, has.Schema, size, has.Rows["requests"], has.Rows["sessions"], has.Rows["trail"], copied)
		return has.Requests, true
	}
	return nil, false
}

// recordedFacts are what doctor tells of recorded requests.
type recordedFacts struct {
	requests, refused, failed, checked, prompt, read, own int
	passed                                                map[string]int
}

func (f *recordedFacts) add(r *record.Request, checks func(model string) bool) {
	if r.API == record.CountTokens {
		return
	}
	f.requests++
	f.prompt += r.Usage.Prompt()
	f.read += r.Usage.CacheRead
	switch {
	case r.Status == http.StatusBadRequest:
		f.refused++
	case r.Status == 0 || r.Status >= http.StatusInternalServerError:
		f.failed++
	}
	if r.API == record.Messages && checks(r.Model) {
		f.checked++
	}
	if r.Cache.Broke == record.BrokeStet {
		f.own++
	}
	if r.Passed != "" {
		if f.passed == nil {
			f.passed = map[string]int{}
		}
		f.passed[r.Passed]++
	}
}

func (c *doctorCommand) tellRecorded(f *recordedFacts) {
	if f.requests == 0 {
		c.found(checkOK, "record", "run an agent with \"stet wrap -- AGENT\"", "no request in the last %d days", recordedDays)
		return
	}
	const days = recordedDays
	untouched := 0
	var why []string
	for cause, n := range f.passed {
		untouched += n
		why = append(why, fmt.Sprintf("%d %s", n, cause))
	}
	slices.Sort(why)
	switch {
	case f.refused*20 > f.requests:
		c.found(checkWarning, "requests", "\"stet wrap --log FILE\" or the key log shows each; with --observe they go as they came", "%d in %d days, %d of them refused as wrong (400), %d failed", f.requests, days, f.refused, f.failed)
	case untouched*2 > f.requests:
		c.found(checkWarning, "requests", "docs/proxy.md says what each word means", "%d in %d days; %d passed untouched: %s", f.requests, days, untouched, strings.Join(why, ", "))
	default:
		c.found(checkOK, "requests", "", "%d in %d days; %d refused as wrong (400), %d failed, %d passed untouched", f.requests, days, f.refused, f.failed, untouched)
	}
	if f.prompt > 0 {
		share := 100 * float64(f.read) / float64(f.prompt)
		state, do := checkOK, ""
		if share < 50 && f.requests >= 20 {
			state, do = checkWarning, "\"stet cache --live\" shows where it broke, and why"
		}
		c.found(state, "cache", do, "%.0f %% of the prompts were read from the provider's cache; stet broke it %d times, to send less from then on", share, f.own)
	}
	thinking := "not seen yet: no request was to a model that checks what stands before its thinking"
	if f.checked > 0 {
		thinking = fmt.Sprintf("%d requests were to models that check what stands before their thinking: what was sent to them is repeated as it was", f.checked)
	}
	c.found(checkOK, "thinking", "", "%s", thinking)
	state, do, threads := checkOK, "", "no message thread, and no request that goes on from a stored answer, was passed over"
	if n := f.passed["thread"] + f.passed["chained"]; n > 0 {
		if n*20 > f.requests {
			state, do = checkWarning, "docs/proxy.md says when this happens; nothing is lost by it but what could have been saved"
		}
		threads = fmt.Sprintf("%d requests in a message thread and %d that go on from a stored answer passed untouched: what they go on from is not held here",
			f.passed["thread"], f.passed["chained"])
	}
	c.found(state, "threads", do, "%s", threads)
}

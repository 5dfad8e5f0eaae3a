package agentconfig

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/jsonc"
)

// lasting says how an agent is sent through the proxy in all of its runs: by base URLs in its own configuration.
type lasting struct {
	file   func(m Machine) string // empty when there is no home to put it in
	toml   bool                   // else JSON, with or without comments
	values func(m Machine) []baseURL
	note   string // what else the person should know
}

// baseURL is a base URL in an agent's configuration.
type baseURL struct {
	path []string // of keys
	apis []API    // that are asked there
	// asks is where the agent asks if nothing stands there; empty: at the provider of the API.
	asks string
	bare bool // the agent puts the version behind it
}

// ProxyAgents are the names of the agents that can be sent through the proxy for good.
func ProxyAgents() (names []string) {
	for _, a := range agents {
		if a.lasting != nil {
			names = append(names, a.name)
		}
	}
	return names
}

// Lasting are the agents that go through the proxy for good, by name. It is kept in a file.
type Lasting map[string]LastingAgent

// LastingAgent is what was changed in an agent's configuration.
type LastingAgent struct {
	File   string         `json:"file"`
	Values []LastingValue `json:"values"`
}

// LastingValue is a base URL that was put in place.
type LastingValue struct {
	Path []string `json:"path"` // of keys
	Ours string   `json:"ours"`
	Was  *string  `json:"was"`            // what stood there; null: nothing did
	Made int      `json:"made,omitempty"` // how many of the objects above it were made too
	// Asked is where the agent would ask without stet, if that is not the provider of the APIs; the proxy sends its requests on to there.
	Asked string `json:"asked,omitempty"`
	APIs  []API  `json:"apis,omitempty"`
}

// ReadLasting reads the file. One that is not there is empty.
func ReadLasting(file string) (Lasting, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Lasting{}, nil
	}
	l := Lasting{}
	if err == nil {
		err = json.Unmarshal(b, &l)
	}
	if err != nil {
		return nil, fmt.Errorf("what stet has set up: %w", err)
	}
	return l, nil
}

func (l Lasting) write(file string) error {
	b, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return writeFile(file, append(b, '\n'), 0o600)
}

// Names are the agents, in order.
func (l Lasting) Names() []string { return slices.Sorted(maps.Keys(l)) }

// Asked returns where an agent would ask without stet, for the APIs that it does not ask at their provider for.
func (l Lasting) Asked(agent string) map[API]string {
	asked := map[API]string{}
	for _, v := range l[agent].Values {
		for _, api := range v.APIs {
			if v.Asked != "" {
				asked[api] = v.Asked
			}
		}
	}
	return asked
}

// before returns what stood in an agent's configuration in place of base, which stands there now: base itself, unless AddProxy put it
// there.
func (l Lasting) before(agent, base string, path ...string) string {
	for _, v := range l[agent].Values {
		switch {
		case v.Ours != base || !slices.Equal(v.Path, path):
		case v.Was == nil:
			return ""
		default:
			return *v.Was
		}
	}
	return base
}

// Proxied is what sending an agent through the proxy did, or would do.
type Proxied struct {
	File    string   // the agent's configuration file
	Changes []string // `env.ANTHROPIC_BASE_URL = "http://…"`, one for each value that changes
	Asked   []string // where the agent asked, if that is not at its provider
	Kept    string   // the copy of what the file held; empty where there was none
	Note    string   // what else the person should know; may be empty
}

// AddProxy has an agent ask at base ("http://127.0.0.1:4141") in all of its runs, and notes in the file state what stood there. If the agent
// asked somewhere else than at its provider, its address names it, and Lasting.Asked has where. With dry nothing is written. What else the
// agent's file holds stays as it is, and a copy of it is kept beside it.
func (m Machine) AddProxy(name, base, state string, dry bool) (Proxied, error) {
	a, out, err := m.lastingOf(name)
	if err != nil {
		return out, err
	}
	all, err := ReadLasting(state)
	if err != nil {
		return out, err
	}
	before := all[name]
	if before.File != "" && before.File != out.File {
		return out, fmt.Errorf("%s was sent through the proxy in %s before: take that out first, with --remove", name, before.File)
	}
	f, err := readConfig(out.File, a.toml)
	if err != nil {
		return out, err
	}
	old := f.text
	m.Lasting = all
	done := LastingAgent{File: out.File}
	for _, v := range a.values(m) {
		row, change, err := m.addBaseURL(f, v, before, name, base)
		if err != nil {
			return out, fmt.Errorf("%s: %w; nothing was written", out.File, err)
		}
		if change != "" {
			out.Changes = append(out.Changes, change)
		}
		if row.Asked != "" {
			out.Asked = append(out.Asked, row.Asked)
		}
		done.Values = append(done.Values, row)
	}
	for _, v := range before.Values { // of a provider that is not chosen any more
		if !slices.ContainsFunc(done.Values, func(d LastingValue) bool { return slices.Equal(d.Path, v.Path) }) {
			done.Values = append(done.Values, v)
		}
	}
	if dry {
		return out, nil
	}
	all[name] = done
	if err := all.write(state); err != nil {
		return out, err
	}
	if !bytes.Equal(old, f.text) {
		out.Kept, err = f.write()
	}
	return out, err
}

// addBaseURL puts the proxy's address in the place of a base URL. change is empty where it stands there already.
func (m Machine) addBaseURL(f *configFile, v baseURL, known LastingAgent, name, base string) (row LastingValue, change string, err error) {
	now, there, err := f.lookup(v.path)
	if err != nil {
		return row, "", err
	}
	row = LastingValue{Path: v.path, APIs: v.apis}
	i := slices.IndexFunc(known.Values, func(k LastingValue) bool { return slices.Equal(k.Path, v.path) && there && k.Ours == now })
	switch {
	case i >= 0: // set up again
		row.Was, row.Made = known.Values[i].Was, known.Values[i].Made
	case there:
		row.Was = &now
	default:
		row.Made = f.missing(v.path)
	}
	asks := v.asks
	if row.Was != nil {
		asks = m.expand(*row.Was)
	}
	if asks, err = upstreamOf(asks, base); err != nil {
		return row, "", fmt.Errorf("%s: %w", strings.Join(v.path, "."), err)
	}
	if asks == "" {
		row.Was = nil // it was the proxy's own address
	} else {
		row.Asked = asks
		base += "/stet/" + name
	}
	if row.Ours = inPlaceOf(asks, base); v.bare {
		row.Ours = base
	}
	if now == row.Ours {
		return row, "", nil
	}
	return row, fmt.Sprintf("%s = %q", strings.Join(v.path, "."), row.Ours), f.set(v.path, row.Ours, there)
}

// upstreamOf returns a base URL that requests can go on to; empty for the proxy's own address, base.
func upstreamOf(asks, base string) (string, error) {
	u, err := url.Parse(asks)
	switch ours, _ := url.Parse(base); {
	case asks == "":
		return "", nil
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("what stands there is no base URL, which begins with http:// or https://")
	case u.User != nil:
		return "", errors.New("the base URL there has a user name: take it out; the agent sends its own key")
	case ours != nil && u.Port() == ours.Port() && (u.Hostname() == ours.Hostname() || u.Hostname() == "localhost"):
		return "", nil
	}
	return asks, nil
}

// RemoveProxy puts back what stood in an agent's configuration before AddProxy. A value that was changed since stays, and is named in the
// note.
func (m Machine) RemoveProxy(name, state string, dry bool) (Proxied, error) {
	all, err := ReadLasting(state)
	if err != nil {
		return Proxied{}, err
	}
	done, ok := all[name]
	a, out, err := m.lastingOf(name)
	switch {
	case err != nil:
		return out, err
	case !ok:
		return out, fmt.Errorf("%s was not sent through the proxy by stet setup", name)
	}
	out.File, out.Note = done.File, ""
	f, err := readConfig(done.File, a.toml)
	if err != nil {
		return out, err
	}
	old := f.text
	for _, v := range slices.Backward(done.Values) {
		key := strings.Join(v.Path, ".")
		now, there, err := f.lookup(v.Path)
		switch {
		case err != nil:
		case now != v.Ours:
			if there {
				out.Note = key + " was changed since, and stays"
			}
			continue
		case v.Was != nil:
			out.Changes = append(out.Changes, fmt.Sprintf("%s = %q", key, *v.Was))
			err = f.set(v.Path, *v.Was, true)
		default:
			out.Changes = append(out.Changes, key+" is removed")
			err = f.remove(v.Path, v.Made)
		}
		if err != nil {
			return out, fmt.Errorf("%s: %w; nothing was written", done.File, err)
		}
	}
	if dry {
		return out, nil
	}
	if !bytes.Equal(old, f.text) {
		if out.Kept, err = f.write(); err != nil {
			return out, err
		}
	}
	delete(all, name)
	return out, all.write(state)
}

func (m Machine) lastingOf(name string) (*lasting, Proxied, error) {
	for _, a := range agents {
		if a.name != name || a.lasting == nil {
			continue
		}
		file := a.lasting.file(m)
		if file == "" {
			return nil, Proxied{}, fmt.Errorf("the configuration of %s: %w", name, ErrNoHome)
		}
		return a.lasting, Proxied{File: file, Note: a.lasting.note}, nil
	}
	return nil, Proxied{}, fmt.Errorf("unknown agent %q", name)
}

// configFile is the text of an agent's configuration.
type configFile struct {
	name    string
	toml    bool
	existed bool
	came    []byte // with its mark, as it stands in the file
	marked  bool
	text    []byte
}

func readConfig(name string, isTOML bool) (*configFile, error) {
	came, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f := &configFile{name: name, toml: isTOML, existed: err == nil, came: came}
	if to, err := os.Readlink(name); err == nil && !f.existed {
		return nil, fmt.Errorf("%s is a link to %q, which is not there: make that file, or remove the link; nothing was written", name, to)
	}
	f.text, f.marked = bytes.CutPrefix(came, []byte(byteOrderMark))
	return f, nil
}

func (f *configFile) write() (kept string, err error) {
	now := f.text
	if f.marked {
		now = append([]byte(byteOrderMark), now...)
	}
	return replaceFile(f.name, f.came, now, f.existed)
}

// lookup returns the text under a path. A value that is no text is an error.
func (f *configFile) lookup(path []string) (string, bool, error) {
	if f.toml {
		return lookupTOML(f.text, path)
	}
	v, ok, err := jsonc.Lookup(f.text, path)
	s, is := v.(string)
	if err == nil && ok && !is {
		err = fmt.Errorf("%s is no text", strings.Join(path, "."))
	}
	return s, ok, err
}

// missing is how many of the objects above a value are not there.
func (f *configFile) missing(path []string) int {
	for n := len(path) - 1; n > 0 && !f.toml; n-- {
		if _, ok, _ := jsonc.Lookup(f.text, path[:n]); ok {
			return len(path) - 1 - n
		}
	}
	if f.toml {
		return 0
	}
	return len(path) - 1
}

func (f *configFile) set(path []string, value string, there bool) (err error) {
	last := len(path) - 1
	switch {
	case f.toml:
		f.text, err = setTOML(f.text, path, value)
	case there:
		f.text, err = jsonc.Replace(f.text, path, value)
	default:
		f.text, err = jsonc.Add(f.text, path[:last], map[string]any{path[last]: value})
	}
	return err
}

// remove removes a value, and the objects above it that were made for it, if nothing else is in them.
func (f *configFile) remove(path []string, made int) (err error) {
	if f.toml {
		f.text, err = removeTOML(f.text, path)
		return err
	}
	f.text, err = jsonc.Remove(f.text, path)
	for n := len(path) - 1; err == nil && made > 0; n, made = n-1, made-1 {
		v, _, _ := jsonc.Lookup(f.text, path[:n])
		if inside, is := v.(map[string]any); !is || len(inside) > 0 {
			break
		}
		f.text, err = jsonc.Remove(f.text, path[:n])
	}
	return err
}

// claudeUserFile is the person's file, for all projects.
func (m Machine) claudeUserFile() string {
	dir := cmp.Or(m.Getenv("CLAUDE_CONFIG_DIR"), m.BelowHome(".claude"))
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "settings.json")
}

// claudeValues are one: what the settings say counts before the environment.
func claudeValues(m Machine) []baseURL {
	const name = "ANTHROPIC_BASE_URL"
	return []baseURL{{path: []string{"env", name}, apis: []API{Messages}, asks: m.Getenv(name), bare: true}}
}

// codexChatGPT reports whether Codex is logged in with an account of ChatGPT, for which it asks another server.
func (m Machine) codexChatGPT() bool {
	var login struct {
		Key    *string         `json:"OPENAI_API_KEY"`
		Tokens json.RawMessage `json:"tokens"`
	}
	b, err := os.ReadFile(filepath.Join(filepath.Dir(m.codexFile()), "auth.json"))
	if err != nil || json.Unmarshal(b, &login) != nil {
		return false
	}
	return login.Key == nil && len(login.Tokens) > 0 && string(login.Tokens) != "null"
}

// codexValues are those of the provider that Codex is configured for.
func codexValues(m Machine) []baseURL {
	c := m.codexConfig(nil)
	path := []string{"openai_base_url"}
	if c.provider != "openai" {
		path = []string{"model_providers", c.provider, "base_url"}
	}
	v := baseURL{path: path, apis: []API{Chat, Responses}}
	if c.provider == "openai" && m.codexChatGPT() {
		v.asks = "https://chatgpt.com/backend-api/codex"
	}
	return []baseURL{v}
}

// opencodeUserFile is the person's file, the one with comments if that is there.
func (m Machine) opencodeUserFile() string {
	dir := cmp.Or(m.Getenv("XDG_CONFIG_HOME"), m.BelowHome(".config"))
	if dir == "" {
		return ""
	}
	commented := filepath.Join(dir, "opencode", "opencode.jsonc")
	if _, err := os.Stat(commented); err == nil {
		return commented
	}
	return filepath.Join(dir, "opencode", "opencode.json")
}

// opencodeValues are those of the two providers that opencode has by itself. Their SDKs look at the environment where
// nothing is configured.
func opencodeValues(m Machine) []baseURL {
	at := func(provider string) []string { return []string{"provider", provider, "options", "baseURL"} }
	return []baseURL{
		{path: at("anthropic"), apis: []API{Messages}, asks: m.Getenv("ANTHROPIC_BASE_URL")},
		{path: at("openai"), apis: []API{Chat, Responses}, asks: m.Getenv("OPENAI_BASE_URL")},
	}
}

// Programs are the names of the agents that stet knows how to send through the proxy, as they are started.
func Programs() []string {
	names := []string{"claude", "qwen", "aider"} // these go by the environment alone
	for _, a := range agents {
		if len(a.programs) > 0 {
			names = append(names, a.programs[0])
		}
	}
	slices.Sort(names)
	return names
}

// ProxyChanged names the values that AddProxy put into an agent's configuration, and that say something else now.
func (m Machine) ProxyChanged(name string, lasting Lasting) (changed []string, err error) {
	done, ok := lasting[name]
	a, _, unknown := m.lastingOf(name)
	if !ok || unknown != nil {
		return nil, nil
	}
	f, err := readConfig(done.File, a.toml)
	if err != nil {
		return nil, err
	}
	for _, v := range done.Values {
		now, _, err := f.lookup(v.Path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", done.File, err)
		}
		if now != v.Ours {
			changed = append(changed, strings.Join(v.Path, "."))
		}
	}
	return changed, nil
}

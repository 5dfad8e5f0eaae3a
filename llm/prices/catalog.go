package prices

import (
	_ "embed" // models.json
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed models.json
var modelsJSON []byte

// file is the form of models.json and of a user's own file.
type file struct {
	Source string  `json:"source"` // where the data comes from
	Date   string  `json:"date"`   // the day its prices hold for, YYYY-MM-DD
	Models []Model `json:"models"`
}

// Catalog holds models and finds them by name. The zero value is empty. It is
// not changed by lookups, so that many may look up at once; Load must not run
// at the same time.
type Catalog struct {
	Source string // of the embedded data
	Date   string

	models []Model        // a user's first
	exact  map[string]int // lower-case id or other name → index
}

var embedded = sync.OnceValues(func() (*Catalog, error) {
	c := new(Catalog)
	if err := c.Load(modelsJSON); err != nil {
		return nil, fmt.Errorf("embedded models: %w", err)
	}
	return c, nil
})

// Lookup finds a model of the embedded data by the name a request or a
// recording gives it: see [Catalog.Lookup]. The data are parsed at the first call.
func Lookup(name string) (Model, bool) {
	c, err := embedded()
	if err != nil {
		return Model{}, false
	}
	return c.Lookup(name)
}

// Embedded returns a catalog of the embedded data, to load more into.
func Embedded() (*Catalog, error) {
	c, err := embedded()
	if err != nil {
		return nil, err
	}
	own := &Catalog{Source: c.Source, Date: c.Date, models: append([]Model(nil), c.models...)}
	own.index()
	return own, nil
}

// Load merges data, in the form of models.json, into c: a model whose id is
// there already takes the fields that data gives (and keeps the others), a new
// one is added and found before the older ones. On an error c is unchanged.
func (c *Catalog) Load(data []byte) error {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return fmt.Errorf("price data: %w", err)
	}
	var raw struct{ Models []json.RawMessage }
	if err := json.Unmarshal(data, &raw); err != nil {
		return fmt.Errorf("price data: %w", err)
	}
	at := make(map[string]int, len(c.models))
	for i, m := range c.models {
		at[m.ID] = i
	}
	merged := append([]Model(nil), c.models...)
	var fresh []Model
	for i, m := range f.Models {
		m.ID = strings.ToLower(m.ID)
		if m.ID == "" {
			return fmt.Errorf("price data: model %d has no id", i)
		}
		j, known := at[m.ID]
		if !known {
			fresh = append(fresh, m)
			continue
		}
		merged[j].Match = merged[j].Match.clone() // Unmarshal writes into slices it finds
		if err := json.Unmarshal(raw.Models[i], &merged[j]); err != nil {
			return fmt.Errorf("price data: %s: %w", m.ID, err)
		}
		merged[j].ID = m.ID
	}
	c.models = append(fresh, merged...)
	if c.Source == "" {
		c.Source, c.Date = f.Source, f.Date
	}
	c.index()
	return nil
}

// index fills exact: ids first, then the other whole names, then ids without the vendor in front of them.
func (c *Catalog) index() {
	c.exact = make(map[string]int, 4*len(c.models))
	put := func(name string, i int) {
		if _, taken := c.exact[name]; !taken && name != "" {
			c.exact[name] = i
		}
	}
	for i, m := range c.models {
		put(m.ID, i)
	}
	for i, m := range c.models {
		for _, name := range slices.Concat(m.Match.Is, m.Match.Starts, m.Match.Has) {
			put(strings.ToLower(strings.TrimRight(name, "-@")), i)
		}
	}
	for i, m := range c.models {
		put(m.ID[strings.LastIndexByte(m.ID, '/')+1:], i)
	}
}

// Models returns the models, those found first in front.
func (c *Catalog) Models() []Model { return append([]Model(nil), c.models...) }

// Lookup finds a model by name, tolerant of what providers, routers and agents
// put around it: upper case, "openai/…", "us.anthropic.…-v1:0", "models/…",
// "…@20250929", "…-2025-09-29", "…[1m]", "…:free", "…-latest". Where no name is
// equal, the longest known name that the given one begins with gives the family:
// see Model.Family.
func (c *Catalog) Lookup(name string) (Model, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	if i, ok := c.exact[name]; ok { // as for most requests, and without the work of forms
		return c.models[i], true
	}
	sure, all := forms(name)
	for n, form := range all {
		if i, ok := c.exact[form]; ok {
			m := c.models[i]
			m.Free, m.Regional = strings.HasSuffix(name, ":free"), regional(name)
			if n >= sure {
				m.Family = m.ID
			}
			return m, true
		}
	}
	best := -1
	for _, form := range all {
		if best < 0 {
			best = c.begins(form)
		}
	}
	for i, m := range c.models {
		if best < 0 && slices.ContainsFunc(m.Match.Has, func(part string) bool { return strings.Contains(name, part) }) {
			best = i
		}
	}
	if best < 0 {
		return Model{}, false
	}
	m := c.models[best]
	m.Family = m.ID
	return m, true
}

// regional reports whether a name is that of Amazon Bedrock for its regions.
func regional(name string) bool {
	i := strings.LastIndex(name, "anthropic.")
	return i >= 0 && !strings.HasSuffix(name[:i], "global.")
}

// ClearsResults reports whether the model's provider clears old results of tools itself, when a request asks for it ("Context
// editing" of the Messages API).
func (m *Model) ClearsResults() bool { return m.Provider == "anthropic" }

// forgetful are the beginnings of the names of models whose provider leaves out the thinking of earlier turns itself.
var forgetful = []string{"claude-v1", "claude-2", "claude-3", "claude-haiku-4-5", "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-5", "claude-sonnet-4-0", "claude-sonnet-4-5"}

// BillsThinking reports whether the model's provider is known to keep the thinking of earlier turns in the prompt, and to bill it.
func (m *Model) BillsThinking() bool {
	return m.Provider == "anthropic" && !slices.ContainsFunc(forgetful, func(name string) bool { return strings.HasPrefix(m.ID, name) })
}

// ChecksThinking reports whether the provider of a model must be taken to check what
// comes before a block of thinking: it is known to, or it is not known not to.
// A model is known by its exact name, in any of the forms that Lookup takes: a name that
// only begins like a known one may be that of a newer model. The check is of one
// provider; no model that another one makes has it.
func (c *Catalog) ChecksThinking(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	sure, all := forms(name)
	for _, n := range all[:sure] {
		n = dotted.ReplaceAllString(n, "$1-$2")
		for _, known := range []string{n, n + "-latest"} {
			if i, ok := c.exact[known]; ok && c.models[i].Thinking != "" {
				return c.models[i].Thinking == ThinkingChecked
			}
		}
	}
	m, found := c.Lookup(name) // of another provider, perhaps
	return !found || m.Provider == "anthropic"
}

// ChecksThinking is [Catalog.ChecksThinking] of the embedded data.
func ChecksThinking(name string) bool {
	c, err := embedded()
	return err != nil || c.ChecksThinking(name)
}

// begins returns the model with the longest name that n begins with, or -1. A
// name in Match.Starts is a beginning of any kind; an id or an equal name must
// end where a part of n ends.
func (c *Catalog) begins(n string) int {
	best, length := -1, 0
	try := func(i int, prefix string, whole bool) {
		if len(prefix) <= length || !strings.HasPrefix(n, prefix) {
			return
		}
		if whole && len(n) > len(prefix) && !strings.ContainsRune("-:@", rune(n[len(prefix)])) {
			return
		}
		best, length = i, len(prefix)
	}
	for i, m := range c.models {
		try(i, m.ID, true)
		for _, p := range m.Match.Is {
			try(i, p, true)
		}
		for _, p := range m.Match.Starts {
			try(i, p, false)
		}
	}
	return best
}

var (
	bracket = regexp.MustCompile(`\[[^\]]*\]$`)
	version = regexp.MustCompile(`-v\d+(:\d+)?$`)
	vendor  = regexp.MustCompile(`^([a-z-]+\.)+`) // of Amazon Bedrock: "us.anthropic."
	variant = regexp.MustCompile(`:(free|nitro|floor|exacto|online|thinking|extended|beta|latest)$`)
	dotted  = regexp.MustCompile(`(\d)\.(\d)`)
	// 20251101, 2025-11-01, 11-2025, 05-20, 0905, 2407, 001
	dated = regexp.MustCompile(`[-@](20\d{6}|20\d\d-\d\d-\d\d|[01]\d-20\d\d|[01]\d-[0-3]\d|[01]\d[0-3]\d|2[3-9][01]\d|00\d)$`)
)

// forms lists the ways to write name, the fullest first. The first sure of them name the same model. The
// others leave out a word that may name another one, as a local model's "…:30b".
func forms(name string) (sure int, out []string) {
	add := func(s string) string {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
		return s
	}
	plain := func(s string) {
		s = add(dated.ReplaceAllString(add(s), ""))
		s = add(strings.TrimSuffix(s, "-latest"))
		s = add(strings.TrimSuffix(s, "-preview"))
		s = add(dated.ReplaceAllString(s, ""))
		add(s + "-preview")
		add(dotted.ReplaceAllString(s, "$1-$2"))
	}
	add(name)
	s := add(bracket.ReplaceAllString(name, ""))
	s = add(s[strings.LastIndexByte(s, '/')+1:])
	s = add(version.ReplaceAllString(s, ""))
	s = add(vendor.ReplaceAllString(s, ""))
	plain(variant.ReplaceAllString(s, ""))
	sure = len(out)
	if i := strings.LastIndexByte(s, ':'); i > 0 {
		plain(s[:i])
	}
	return sure, out
}

package agents

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/stet-dev/stet/internal/jsonc"
)

// Untrusted returns the events whose hooks the agent skips, because its person has not said that they may run. Codex keeps that in its configuration, by
// the position of a hook and by a hash of it, so that another hook in front of it, or a change, takes the trust away.
func (g Guarded) Untrusted(m Machine) (events []string, err error) {
	if !g.asksTrust {
		return nil, nil
	}
	f, err := readConfig(g.file(m, ""), false)
	if err != nil {
		return nil, err
	}
	settings, err := readConfig(filepath.Join(filepath.Dir(f.name), "config.toml"), false)
	if err != nil {
		return nil, err
	}
	var config struct {
		Hooks struct {
			State map[string]struct {
				Hash    string `toml:"trusted_hash"`
				Enabled *bool  `toml:"enabled"`
			} `toml:"state"`
		} `toml:"hooks"`
	}
	if err := toml.Unmarshal(settings.text, &config); err != nil {
		return nil, fmt.Errorf("%s: %w", settings.name, err)
	}
	for _, event := range hookEvents {
		v, _, err := jsonc.Lookup(f.text, []string{"hooks", event})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		list, _ := v.([]any)
		for i, entry := range list {
			if !g.ours(entry) {
				continue
			}
			event := strings.ToLower(wordStart.ReplaceAllString(event, "${1}_$2"))
			s := config.Hooks.State[fmt.Sprintf("%s:%s:%d:0", f.name, event, i)]
			if s.Hash != trustHash(event, entry) || s.Enabled != nil && !*s.Enabled {
				events = append(events, event)
			}
		}
	}
	return events, nil
}

var wordStart = regexp.MustCompile(`([a-z])([A-Z])`)

// trustHash is the hash that Codex makes of a hook: of JSON with sorted keys and with what Codex adds to a hook.
func trustHash(event string, entry any) string {
	e, _ := entry.(map[string]any)
	group := map[string]any{"event_name": event}
	if matcher, ok := e["matcher"]; ok {
		group["matcher"] = matcher
	}
	var hooks []any
	list, _ := e["hooks"].([]any)
	for _, h := range list {
		hook := map[string]any{"async": false}
		given, _ := h.(map[string]any)
		for k, v := range given {
			hook[k] = v
		}
		hooks = append(hooks, hook)
	}
	group["hooks"] = hooks
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(group) // it came from JSON
	sum := sha256.Sum256([]byte(strings.TrimSuffix(b.String(), "\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

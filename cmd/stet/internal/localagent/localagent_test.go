package localagent

import (
	"path/filepath"
	"testing"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/toolset"
)

// CTX-4: the key compact says when the agent asks for a summary.
func TestCompactKey(t *testing.T) {
	for percent, want := range map[string]float64{"92": 0.92, "50": 0.5, "0": -1} {
		settings, err := config.Load(config.Source{Getenv: func(name string) string {
			return map[string]string{"STET_COMPACT": percent}[name]
		}})
		if err != nil {
			t.Fatal(err)
		}
		state := t.TempDir()
		a, err := Open(t.Context(), Options{
			Settings: settings, Model: Model{Name: "scripted"}, Dir: t.TempDir(), Getenv: func(string) string { return "" },
			Tools: toolset.Options{State: state, Trail: filepath.Join(state, "stet.db"), Elsewhere: true}, Say: t.Logf,
		})
		if err != nil {
			t.Fatal(err)
		}
		if a.Agent.Limits.Compact != want {
			t.Errorf("%s: %+v", percent, a.Agent.Limits)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

package agents

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/stet-dev/stet/internal/jsonc"
	"github.com/stet-dev/stet/llm"
)

// redirectGemini redirects Gemini CLI. If its settings name no login method, Gemini CLI takes GOOGLE_GEMINI_BASE_URL for a server
// without login, and refuses to run without a terminal. So the variable is set only if the settings choose the key. With an account
// Gemini CLI asks another server, and with Vertex AI the cloud.
func (m Machine) redirectGemini(r *Redirect, _ int, base string) {
	const variable = "GOOGLE_GEMINI_BASE_URL"
	was := m.Getenv(variable)
	switch login := m.geminiLogin(); {
	case login == "gemini-api-key", login == "" && was != "":
		r.learn(variable, was, llm.Gemini)
		r.set(variable, base)
	case login == "":
		r.Notes = append(r.Notes, `Gemini CLI is not redirected: its settings do not say that it uses a key. `+
			`Choose it there with /auth, or add "security": {"auth": {"selectedType": "gemini-api-key"}} to ~/.gemini/settings.json`)
	default:
		r.Notes = append(r.Notes, "Gemini CLI is not redirected: it logs in by "+login+", and not with a key of the Gemini API")
	}
}

// geminiLogin returns the login method in Gemini CLI's settings, or "". The system's settings come before the project's, and these
// before the user's.
func (m Machine) geminiLogin() (login string) {
	home := cmp.Or(m.Getenv("GEMINI_CLI_HOME"), m.Home())
	for _, file := range []string{
		cmp.Or(m.Getenv("GEMINI_CLI_SYSTEM_SETTINGS_PATH"), "/etc/gemini-cli/settings.json"),
		filepath.Join(m.Dir, ".gemini", "settings.json"), filepath.Join(home, ".gemini", "settings.json"),
	} {
		var said struct {
			Security struct{ Auth struct{ SelectedType string } }
		}
		if b, err := os.ReadFile(file); err == nil && jsonc.Unmarshal(b, &said) == nil {
			login = cmp.Or(login, said.Security.Auth.SelectedType)
		}
	}
	return login
}

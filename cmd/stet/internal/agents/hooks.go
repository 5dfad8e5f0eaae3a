package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stet-dev/stet/internal/jsonc"
	"github.com/stet-dev/stet/server/guard"
)

// Guarded is an agent whose hooks tell the guard of its calls.
type Guarded struct {
	Name     string     // "claude"
	Sessions string     // the agent of its session files, as transcript.Source has it
	speech   *speech    // of its hooks; nil: it has a plugin
	form     guard.Form // of its plugin

	// file returns the agent's file of hooks: for the user (project is ""), or for a project if it is Local.
	file func(m Machine, project string) string

	// plugin returns the text of a file that is stet's alone; nil: the hooks are in a file with other settings.
	plugin func(h Hooks) string
	mark   string // which is in each such file
	// closedMark is in it if it fails closed.
	closedMark string

	// Local says that the agent has a file of hooks for a project that people do not commit.
	Local bool

	// CanClose says that the agent refuses a call if the hook fails.
	CanClose bool
	Refusal  string // a part of what the model reads then

	asksTrust bool   // the agent runs a hook only after its person has said so
	since     string // the first version that refuses then; "": all do
}

// Hooks is what the installed hooks need.
type Hooks struct {
	URL     string // of the guard: "http://127.0.0.1:4141/guard"
	Token   string
	Program string // path of stet
	Closed  bool   // refuse calls if the guard does not answer

	Wait  time.Duration // how long a call waits for a person where the agent cannot ask
	Pause time.Duration // how long a dialog that comes after the hook waits
}

// guarded are the agents that the guard knows.
//
// Sources, each held by a test that runs the agent: code.claude.com/docs/en/hooks; openai/codex codex-rs/hooks;
// opencode.ai/docs/plugins.
var guarded = []Guarded{
	{
		Name: "claude", Sessions: "claude-code", Local: true, CanClose: true, Refusal: `onFailure is "block"`, since: "2.1.295", speech: &claudeSpeech,
		file: func(m Machine, project string) string {
			if project != "" {
				return filepath.Join(project, ".claude", "settings.local.json")
			}
			return m.claudeUserFile()
		},
	},
	{
		Name: "codex", Sessions: "codex", asksTrust: true, speech: &codexSpeech, file: fileIn("CODEX_HOME", ".codex", "hooks.json"),
	},
	{
		Name: "opencode", Sessions: "opencode", CanClose: true, Refusal: "stet guard does not answer",
		file: fileIn("XDG_CONFIG_HOME", ".config", "opencode", "plugin", "stet-guard.js"), plugin: plugin("opencode", opencodePlugin), mark: pluginMark, closedMark: pluginClosed, form: pluginForm,
	},
	{
		Name: "qwen", Sessions: "qwen", speech: &qwenSpeech, file: fileIn("QWEN_HOME", ".qwen", "settings.json"),
	},
	{
		Name: "gemini", speech: &geminiSpeech,
		file: func(m Machine, _ string) string {
			return filepath.Join(cmp.Or(m.Getenv("GEMINI_CLI_HOME"), m.Home()), ".gemini", "settings.json")
		},
	},
	{
		Name: "copilot", CanClose: true, Refusal: "hook errored", speech: &copilotSpeech,
		file: fileIn("COPILOT_HOME", ".copilot", "hooks", "stet-guard.json"), plugin: copilotFile, mark: " hook copilot ", closedMark: "?closed",
	},
	{
		Name: "pi", Sessions: "pi", CanClose: true, Refusal: "stet guard does not answer",
		file: fileIn("PI_CODING_AGENT_DIR", ".pi/agent", "extensions", "stet-guard.js"), plugin: plugin("pi", piPlugin), mark: pluginMark, closedMark: pluginClosed, form: pluginForm,
	},
}

// fileIn returns the place of a file in the directory that a variable names, or else in one of the person's home.
func fileIn(variable, dir string, name ...string) func(Machine, string) string {
	return func(m Machine, _ string) string { return m.inHome(variable, dir, name...) }
}

// Fails says what the person has to do or to know after the installation: how the agent goes on if the guard does not answer.
func (g Guarded) Fails(closed bool) string {
	says := ""
	if g.asksTrust {
		says = g.Name + " asks at its next start whether it should trust these hooks: say yes; until then it skips them without a word; "
	}
	says += "if the guard does not answer, "
	switch {
	case closed && g.since != "":
		return says + "calls are refused; versions before " + g.since + " go on all the same"
	case closed:
		return says + "calls are refused"
	case g.CanClose:
		return says + g.Name + " goes on as if there were no guard; with --closed its calls are refused"
	}
	return says + g.Name + " goes on as if there were no guard: it cannot refuse calls"
}

// GuardedAgents returns the names of the agents that the guard knows.
func GuardedAgents() (names []string) {
	for _, g := range guarded {
		names = append(names, g.Name)
	}
	return names
}

// GuardOf returns an agent that the guard knows.
func GuardOf(name string) (Guarded, bool) {
	i := slices.IndexFunc(guarded, func(g Guarded) bool { return g.Name == name })
	if i < 0 {
		return Guarded{}, false
	}
	return guarded[i], true
}

// HookFiles returns the files of a person with hooks of the agents that the guard knows.
func HookFiles(m Machine) (files []string) {
	for _, g := range guarded {
		if file := g.file(m, ""); file != "" {
			files = append(files, file)
		}
	}
	return files
}

// hookDirs are the directories in which agents look for hooks and for plugins.
var hookDirs = []string{".claude/settings", ".codex/hooks", ".codex/config", ".opencode/plugin", "opencode/plugin", ".gemini/settings", ".qwen/settings", ".github/hooks/",
	".copilot/hooks/", ".copilot/config", ".pi/extensions", ".pi/settings", ".pi/agent/"}

// hookHomes are the variables that name a directory of an agent instead of the one in the person's home.
var hookHomes = map[string]string{
	"CLAUDE_CONFIG_DIR": "/.claude", "CODEX_HOME": "/.codex", "QWEN_HOME": "/.qwen", "COPILOT_HOME": "/.copilot", "PI_CODING_AGENT_DIR": "/.pi/agent",
}

// extensionHooks are the hooks of an extension.
var extensionHooks = regexp.MustCompile(`/\.(gemini|qwen)/extensions/[^/]+/hooks(/|$)`)

// IsHookFile reports whether an absolute path is that of a file with agents' hooks, of a person or a project.
func (m Machine) IsHookFile(path string) bool {
	path = filepath.ToSlash(path)
	for variable, dir := range hookHomes {
		if home := m.Getenv(variable); home != "" {
			if below, ok := strings.CutPrefix(path, filepath.ToSlash(filepath.Clean(home))+"/"); ok {
				path = dir + "/" + below
				break
			}
		}
	}
	return extensionHooks.MatchString(path) || slices.ContainsFunc(hookDirs, func(dir string) bool { return strings.Contains(path, "/"+dir) })
}

// GuardForms returns how the hooks of all agents speak.
func GuardForms() map[string]guard.Form {
	forms := map[string]guard.Form{}
	for _, g := range guarded {
		if forms[g.Name] = g.form; g.speech != nil {
			forms[g.Name] = g.speech.form()
		}
	}
	return forms
}

// hookTimeout is how long an agent waits for the guard where no person is asked.
const hookTimeout = 30 * time.Second

// ShellWord returns a word as a shell reads it. What cannot be printed is escaped as bash and zsh read it.
func ShellWord(w string) string {
	switch {
	case strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }):
		return "$'" + strings.ReplaceAll(strings.Trim(strconv.QuoteToASCII(w), `"`), "'", `\'`) + "'"
	case w == "" || strings.ContainsFunc(w, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:@{}", r)
	}):
		return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return w
}

// ours reports whether an entry of a list of hooks is one that Install has made.
func (g Guarded) ours(entry any) bool {
	e, _ := entry.(map[string]any)
	hooks, _ := e["hooks"].([]any)
	return len(hooks) > 0 && !slices.ContainsFunc(hooks, func(v any) bool {
		h, _ := v.(map[string]any)
		url, _ := h["url"].(string)
		command, _ := h["command"].(string)
		return !strings.Contains(url, "/guard/"+g.Name+"/") && !strings.Contains(command, " hook "+g.Name+" ")
	})
}

// Edit is a change of an agent's file.
type Edit struct {
	File     string
	Old, New []byte
	existed  bool
	private  bool // New has the guard's token, so only this user may read the file
}

// Changes reports whether the file would change.
func (e Edit) Changes() bool { return string(e.Old) != string(e.New) }

// Write replaces the file, and returns the name of the copy of the old one. If New is empty, it removes the file.
func (e Edit) Write() (kept string, err error) {
	if len(e.New) == 0 {
		err := os.Remove(e.File)
		dir := filepath.Dir(e.File)
		if info, statErr := os.Lstat(dir); statErr == nil && info.IsDir() { // a person's link to a folder stays
			_ = os.Remove(dir) // if it is empty now; any other one stays
		}
		return "", err
	}
	return replaceFile(e.File, e.Old, e.New, e.existed, e.private)
}

// Install returns the change that installs the guard's hooks, for the user or for a project. Older entries of stet are replaced.
func (g Guarded) Install(m Machine, project string, h Hooks) (Edit, error) {
	e, err := g.Remove(m, project)
	if err != nil {
		return Edit{}, err
	}
	if g.plugin != nil {
		e.New, e.private = []byte(g.plugin(h)), true
		return e, nil
	}
	entries := g.speech.hooks(h, g.speech)
	for _, event := range hookEvents {
		if entry, ok := entries[event]; ok && err == nil {
			e.New, err = jsonc.Append(e.New, []string{"hooks", event}, entry)
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w; nothing was written", e.File, err)
	}
	e.private = strings.Contains(string(e.New), h.Token)
	return e, err
}

// Remove returns the change that takes out the guard's hooks, and nothing else.
func (g Guarded) Remove(m Machine, project string) (Edit, error) {
	if m.Home() == "" && project == "" {
		return Edit{}, ErrNoHome
	}
	f, err := readConfig(g.file(m, project), false)
	if err != nil {
		return Edit{}, err
	}
	e := Edit{File: f.name, Old: f.came, existed: f.existed}
	if g.plugin != nil {
		if f.existed && !strings.Contains(string(f.came), g.mark) {
			return Edit{}, fmt.Errorf("%s is not stet's: move it away first; nothing was written", f.name)
		}
		return e, nil
	}
	text := f.text
	for _, event := range hookEvents {
		v, _, err := jsonc.Lookup(text, []string{"hooks", event})
		if err != nil {
			return Edit{}, fmt.Errorf("%s: %w; nothing was written", f.name, err)
		}
		list, _ := v.([]any)
		for i, entry := range slices.Backward(list) {
			if err == nil && g.ours(entry) {
				text, err = jsonc.RemoveAt(text, []string{"hooks", event}, i)
			}
		}
		if left, there, _ := jsonc.Lookup(text, []string{"hooks", event}); err == nil && there && len(list) > 0 && isEmpty(left) {
			text, err = jsonc.Remove(text, []string{"hooks", event})
		}
		if err != nil {
			return Edit{}, err
		}
	}
	if v, there, _ := jsonc.Lookup(text, []string{"hooks"}); there && isEmpty(v) && string(text) != string(f.text) {
		if text, err = jsonc.Remove(text, []string{"hooks"}); err != nil {
			return Edit{}, err
		}
	}
	if f.emptyWith(text) && string(text) != string(f.text) {
		text = nil
	}
	if e.New = append(slices.Clip(f.mark), text...); len(text) == 0 {
		e.New = nil
	}
	return e, nil
}

func isEmpty(v any) bool {
	list, isList := v.([]any)
	object, isObject := v.(map[string]any)
	return isList && len(list) == 0 || isObject && len(object) == 0
}

// Installed reports whether the guard's hooks are in the agent's file, and whether they fail closed.
func (g Guarded) Installed(m Machine, project string) (is, closed bool) {
	f, err := readConfig(g.file(m, project), false)
	if err != nil || !f.existed {
		return false, false
	}
	if g.plugin != nil {
		return strings.Contains(string(f.text), g.mark), strings.Contains(string(f.text), g.closedMark)
	}
	v, _, _ := jsonc.Lookup(f.text, []string{"hooks", g.speech.event(guard.Before)})
	list, _ := v.([]any)
	i := slices.IndexFunc(list, g.ours)
	if i < 0 {
		return false, false
	}
	text, _ := json.Marshal(list[i])
	return true, strings.Contains(string(text), `"onFailure":"block"`)
}

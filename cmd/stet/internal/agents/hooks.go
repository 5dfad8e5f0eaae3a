package agents

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/internal/jsonc"
	"github.com/stet-dev/stet/server/guard"
)

// Guarded is an agent whose hooks tell the guard of its calls.
type Guarded struct {
	Name     string // "claude"
	Sessions string // the agent of its session files, as transcript.Source has it
	form     guard.Form

	// file returns the agent's file of hooks: for the user (project is ""), or for a project if it is Local.
	file func(m Machine, project string) string

	// hooks are the entries by event; nil: the file is a plugin.
	hooks  func(h Hooks) map[string]any
	plugin func(h Hooks) string

	// Local says that the agent has a file of hooks for a project that people do not commit.
	Local bool

	// CanClose says that the agent refuses a call if the hook fails.
	CanClose bool
	Refusal  string // a part of what the model reads then

	asksTrust bool   // the agent runs a hook only after its person has said so
	Note      string // what the person has to do or to know
}

// Hooks is what the installed hooks need.
type Hooks struct {
	URL     string // of the guard: "http://127.0.0.1:4141/guard"
	Token   string
	Program string // path of stet
	Closed  bool   // refuse calls if the guard does not answer
}

// guarded are the agents that the guard knows.
//
// Sources, each held by a test that runs the agent: code.claude.com/docs/en/hooks; openai/codex codex-rs/hooks;
// opencode.ai/docs/plugins.
var guarded = []Guarded{
	{
		Name: "claude", Sessions: "claude-code", Local: true, CanClose: true, Refusal: `onFailure is "block"`,
		form: hookForm(true),
		file: func(m Machine, project string) string {
			if project != "" {
				return filepath.Join(project, ".claude", "settings.local.json")
			}
			return filepath.Join(cmp.Or(m.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(m.Home(), ".claude")), "settings.json")
		},
		hooks: claudeHooks,
	},
	{
		Name: "codex", Sessions: "codex", asksTrust: true,
		form: hookForm(false),
		file: func(m Machine, _ string) string {
			return filepath.Join(cmp.Or(m.Getenv("CODEX_HOME"), filepath.Join(m.Home(), ".codex")), "hooks.json")
		},
		hooks: codexHooks,
		Note: "Codex asks at its next start whether it should trust these hooks: say yes. Until then it skips them without a word. " +
			"If the guard does not answer, Codex goes on as if there were no guard.",
	},
	{
		Name: "opencode", Sessions: "opencode", CanClose: true, Refusal: "stet guard does not answer",
		form: guard.Form{Read: readOpencode, Write: writeOpencode},
		file: func(m Machine, _ string) string {
			return filepath.Join(cmp.Or(m.Getenv("XDG_CONFIG_HOME"), filepath.Join(m.Home(), ".config")), "opencode", "plugin", "stet-guard.js")
		},
		plugin: opencodePlugin,
	},
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

// GuardForms returns how the hooks of all agents speak.
func GuardForms() map[string]guard.Form {
	forms := map[string]guard.Form{}
	for _, g := range guarded {
		forms[g.Name] = g.form
	}
	return forms
}

// hookTimeout is how long an agent waits for the guard, in seconds. It is below what each agent waits by itself.
const hookTimeout = 30

var hookEvents = []string{"SessionStart", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop", "SessionEnd"}

func claudeHooks(h Hooks) map[string]any {
	all := map[string]any{}
	for _, event := range hookEvents {
		hook := map[string]any{
			"type": "http", "url": h.URL + "/claude/" + event, "timeout": hookTimeout,
			"headers": map[string]any{"Authorization": "Bearer " + h.Token},
		}
		if h.Closed && event == "PreToolUse" {
			hook["onFailure"] = "block"
			hook["url"] = h.URL + "/claude/" + event + "?closed"
		}
		entry := map[string]any{"hooks": []any{hook}}
		if strings.Contains(event, "ToolUse") {
			entry["matcher"] = "*"
		}
		all[event] = entry
	}
	return all
}

// codexHooks are commands: Codex has no others.
func codexHooks(h Hooks) map[string]any {
	all := map[string]any{}
	for _, event := range []string{"SessionStart", "PreToolUse", "PostToolUse", "Stop"} {
		all[event] = map[string]any{"hooks": []any{map[string]any{
			"type": "command", "command": ShellWord(h.Program) + " hook codex " + event, "timeout": hookTimeout,
		}}}
	}
	return all
}

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
		return "", os.Remove(e.File)
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
	entries := g.hooks(h)
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
		if f.existed && !strings.Contains(string(f.came), pluginMark) {
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
	var root map[string]any
	if jsonc.Unmarshal(text, &root) == nil && len(root) == 0 && string(text) != string(f.text) {
		text = nil // stet has made the file
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
		return strings.Contains(string(f.text), pluginMark), strings.Contains(string(f.text), "const closed = true")
	}
	v, _, _ := jsonc.Lookup(f.text, []string{"hooks", "PreToolUse"})
	list, _ := v.([]any)
	i := slices.IndexFunc(list, g.ours)
	if i < 0 {
		return false, false
	}
	text, _ := json.Marshal(list[i])
	return true, strings.Contains(string(text), `"onFailure":"block"`)
}

// hookInput is what the hooks of Claude Code and Codex are given.
type hookInput struct {
	SessionID string          `json:"session_id"`
	Cwd       string          `json:"cwd"`
	Tool      string          `json:"tool_name"`
	Input     json.RawMessage `json:"tool_input"`
	CallID    string          `json:"tool_use_id"`
	SubAgent  string          `json:"agent_id"`
}

// hookForm is how the hooks of Claude Code speak, and those of Codex. Codex runs a call whose hook says anything but a denial.
func hookForm(all bool) guard.Form {
	kinds := map[string]guard.Kind{
		"SessionStart": guard.Started, "PreToolUse": guard.Before, "PostToolUse": guard.After, "PostToolUseFailure": guard.After,
		"Stop": guard.Stopped, "SubagentStop": guard.Stopped, "SessionEnd": guard.Stopped,
	}
	return guard.Form{
		Read: func(event string, body []byte) (guard.Event, error) {
			var in hookInput
			if err := json.Unmarshal(body, &in); err != nil {
				return guard.Event{}, fmt.Errorf("hook %s: %w", event, err)
			}
			if kinds[event] == guard.Other {
				return guard.Event{}, fmt.Errorf("there is no event %q", event)
			}
			return guard.Event{
				Kind: kinds[event], Session: in.SessionID, SubAgent: in.SubAgent, Call: in.CallID, Tool: in.Tool, Input: in.Input, Dir: in.Cwd,
				Failed: event == "PostToolUseFailure",
			}, nil
		},
		Write: func(e guard.Event, a guard.Answer) []byte {
			out := map[string]any{}
			switch {
			case a.Decided && (all || a.Action != policy.Allow):
				do := a.Action.String()
				if !all && a.Action == policy.Ask {
					do, a.Reason = "deny", a.Reason+"; it cannot be asked here"
				}
				out["hookSpecificOutput"] = map[string]any{
					"hookEventName": "PreToolUse", "permissionDecision": do, "permissionDecisionReason": a.Reason,
				}
			case a.Say != "" && all:
				out["systemMessage"] = a.Say
			case !all:
				return nil
			}
			b, _ := json.Marshal(out) // strings alone
			return b
		},
	}
}

// opencodeInput is what the plugin sends.
type opencodeInput struct {
	Session string          `json:"session"`
	Call    string          `json:"call"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"`
	Dir     string          `json:"dir"`
}

func readOpencode(event string, body []byte) (guard.Event, error) {
	kinds := map[string]guard.Kind{"start": guard.Started, "before": guard.Before, "after": guard.After, "idle": guard.Stopped}
	var in opencodeInput
	if err := json.Unmarshal(body, &in); err != nil {
		return guard.Event{}, err
	}
	if kinds[event] == guard.Other {
		return guard.Event{}, errors.New("there is no event " + event)
	}
	return guard.Event{Kind: kinds[event], Session: in.Session, Call: in.Call, Tool: in.Tool, Input: in.Args, Dir: in.Dir}, nil
}

func writeOpencode(_ guard.Event, a guard.Answer) []byte {
	if !a.Decided || a.Action == policy.Allow {
		return []byte("{}")
	}
	if a.Action == policy.Ask {
		a.Reason += "; it cannot be asked here"
	}
	b, _ := json.Marshal(map[string]string{"deny": a.Reason})
	return b
}

const pluginMark = "// stet guard: tells stet of each call. \"stet guard opencode --remove\" removes this file."

func opencodePlugin(h Hooks) string {
	quoted := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	return pluginMark + `
const url = ` + quoted(h.URL+"/opencode/") + `, token = ` + quoted(h.Token) + `
const closed = ` + fmt.Sprint(h.Closed) + `
export const StetGuard = async ({ directory }) => {
  const tell = async (event, what) => {
    try {
      const r = await fetch(url + event + (closed ? "?closed" : ""), {
        method: "POST", headers: { authorization: "Bearer " + token }, body: JSON.stringify({ dir: directory, ...what }),
        signal: AbortSignal.timeout(` + fmt.Sprint(hookTimeout*1000) + `),
      })
      if (!r.ok) throw new Error(await r.text())
      return await r.json()
    } catch (e) {
      if (closed && event === "before") return { deny: "stet guard does not answer: " + e.message }
      return {}
    }
  }
  await tell("start", {})
  return {
    "tool.execute.before": async (input, output) => {
      const answer = await tell("before", { session: input.sessionID, call: input.callID, tool: input.tool, args: output.args })
      if (answer.deny) throw new Error(answer.deny)
    },
    "tool.execute.after": async (input) => {
      await tell("after", { session: input.sessionID, call: input.callID, tool: input.tool })
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") await tell("idle", { session: event.properties.sessionID })
    },
  }
}
`
}

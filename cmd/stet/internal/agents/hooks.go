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
	"time"
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

	Wait  time.Duration // how long a call waits for a person where the agent cannot ask
	Pause time.Duration // how long a dialog that comes after the hook waits
}

// timeout returns how long an agent is to wait for the hook of an event, in seconds: a little longer than the guard waits for a person.
func (h Hooks) timeout(event string, beside bool) int {
	wait := time.Duration(0)
	switch {
	case event == "PreToolUse":
		wait = h.Wait
	case event == "PermissionRequest" && beside:
		wait = 24 * time.Hour
	case event == "PermissionRequest":
		wait = h.Pause
	}
	return hookTimeout + int(wait/time.Second)
}

// command is a hook that runs stet.
func (h Hooks) command(agent, event string, beside bool) map[string]any {
	return map[string]any{"type": "command", "command": ShellWord(h.Program) + " hook " + agent + " " + event, "timeout": h.timeout(event, beside)}
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

// HookFiles returns the files of a person with hooks of the agents that the guard knows.
func HookFiles(m Machine) (files []string) {
	for _, g := range guarded {
		files = append(files, g.file(m, ""))
	}
	return files
}

// hookDirs are the directories in which agents look for hooks and for plugins.
var hookDirs = []string{".claude/settings", ".codex/hooks", ".codex/config", ".opencode/plugin", "opencode/plugin", ".gemini/settings", ".qwen/settings", ".github/hooks/", ".copilot/hooks/", ".pi/"}

// IsHookFile reports whether an absolute path is that of a file with agents' hooks, of a person or a project.
func IsHookFile(path string) bool {
	path = filepath.ToSlash(path)
	return slices.ContainsFunc(hookDirs, func(dir string) bool { return strings.Contains(path, "/"+dir) })
}

// GuardForms returns how the hooks of all agents speak.
func GuardForms() map[string]guard.Form {
	forms := map[string]guard.Form{}
	for _, g := range guarded {
		forms[g.Name] = g.form
	}
	return forms
}

// hookTimeout is how long an agent waits for the guard, in seconds, where no person is asked.
const hookTimeout = 30

var hookEvents = []string{
	"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop", "SessionEnd",
}

func claudeHooks(h Hooks) map[string]any {
	all := map[string]any{}
	for _, event := range hookEvents {
		hook := map[string]any{
			"type": "http", "url": h.URL + "/claude/" + event, "timeout": h.timeout(event, true),
			"headers":        map[string]any{"Authorization": "Bearer " + h.Token, "Stet-Entry": "$CLAUDE_CODE_ENTRYPOINT"},
			"allowedEnvVars": []any{"CLAUDE_CODE_ENTRYPOINT"},
		}
		if event == "SessionStart" { // Claude Code runs only commands there
			hook = h.command("claude", event, true)
		}
		if h.Closed && event == "PreToolUse" {
			hook["onFailure"] = "block"
			hook["url"] = h.URL + "/claude/" + event + "?closed"
		}
		entry := map[string]any{"hooks": []any{hook}}
		if strings.Contains(event, "ToolUse") || event == "PermissionRequest" {
			entry["matcher"] = "*"
		}
		all[event] = entry
	}
	return all
}

// codexHooks are commands: Codex has no others.
func codexHooks(h Hooks) map[string]any {
	all := map[string]any{}
	for _, event := range []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "Stop"} {
		all[event] = map[string]any{"hooks": []any{h.command("codex", event, false)}}
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
	Response  json.RawMessage `json:"tool_response"`
	Prompt    string          `json:"prompt"`
}

// hookKinds are the events of Claude Code and Codex.
var hookKinds = map[string]guard.Kind{
	"SessionStart": guard.Started, "UserPromptSubmit": guard.Prompted, "PreToolUse": guard.Before, "PermissionRequest": guard.Asking,
	"PostToolUse": guard.After, "PostToolUseFailure": guard.After, "Stop": guard.Stopped, "SubagentStop": guard.Stopped, "SessionEnd": guard.Stopped,
}

// hookForm is how the hooks of Claude Code speak, and those of Codex. Claude Code asks next to its hooks, unless it runs without a person (with
// -p, or from an SDK). Codex asks after them, and runs a call whose hook before it says anything but a denial.
func hookForm(claude bool) guard.Form {
	return guard.Form{
		Read: func(event, entry string, body []byte) (guard.Event, error) {
			var in hookInput
			if err := json.Unmarshal(body, &in); err != nil {
				return guard.Event{}, fmt.Errorf("hook %s: %w", event, err)
			}
			e := guard.Event{
				Kind: hookKinds[event], Session: in.SessionID, SubAgent: in.SubAgent, Call: in.CallID, Tool: in.Tool, Input: in.Input, Dir: in.Cwd,
				Prompt: in.Prompt, Failed: event == "PostToolUseFailure", Output: guard.Texts(in.Response),
			}
			switch {
			case e.Kind == guard.Other:
				return guard.Event{}, fmt.Errorf("there is no event %q", event)
			case claude && !strings.HasPrefix(entry, "sdk"):
				e.Dialog = guard.Beside
			case !claude && e.Kind == guard.Asking:
				e.Dialog = guard.AfterHook
			}
			e.Edits = claude && e.Kind == guard.Asking
			return e, nil
		},
		Write: func(e guard.Event, a guard.Answer) []byte {
			out := map[string]any{}
			switch {
			case a.Decided && e.Kind == guard.Asking:
				decision := map[string]any{"behavior": a.Action.String()}
				if a.Reason != "" {
					decision["message"] = a.Reason
				}
				if a.Input != nil {
					decision["updatedInput"] = a.Input
				}
				out["hookSpecificOutput"] = map[string]any{"hookEventName": "PermissionRequest", "decision": decision}
			case a.Decided && (claude || a.Action == policy.Deny):
				out["hookSpecificOutput"] = map[string]any{
					"hookEventName": "PreToolUse", "permissionDecision": a.Action.String(), "permissionDecisionReason": a.Reason,
				}
			case a.Say != "" && claude:
				out["systemMessage"] = a.Say
			case !claude:
				return nil
			}
			b, _ := json.Marshal(out) // strings, and JSON that was read
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
	Prompt  string          `json:"prompt"`
	Output  string          `json:"output"`
}

func readOpencode(event, _ string, body []byte) (guard.Event, error) {
	kinds := map[string]guard.Kind{
		"start": guard.Started, "prompt": guard.Prompted, "before": guard.Before, "ask": guard.Asking, "answered": guard.Settled, "rejected": guard.Settled,
		"after": guard.After, "idle": guard.Stopped,
	}
	var in opencodeInput
	if err := json.Unmarshal(body, &in); err != nil {
		return guard.Event{}, err
	}
	if kinds[event] == guard.Other {
		return guard.Event{}, errors.New("there is no event " + event)
	}
	e := guard.Event{
		Kind: kinds[event], Session: in.Session, Call: in.Call, Tool: in.Tool, Input: in.Args, Dir: in.Dir, Prompt: in.Prompt, Failed: event == "rejected", Output: in.Output,
	}
	if e.Kind == guard.Asking {
		e.Dialog = guard.Beside
	}
	return e, nil
}

func writeOpencode(e guard.Event, a guard.Answer) []byte {
	out := map[string]string{}
	switch {
	case a.Decided && a.Action == policy.Deny:
		out["deny"] = a.Reason
	case a.Decided && a.Action == policy.Allow && e.Kind == guard.Asking:
		out["allow"] = "once"
	}
	b, _ := json.Marshal(out)
	return b
}

const pluginMark = "// stet guard: tells stet of each call. \"stet guard opencode --remove\" removes this file."

func opencodePlugin(h Hooks) string {
	quoted := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	return pluginMark + `
const url = ` + quoted(h.URL+"/opencode/") + `, token = ` + quoted(h.Token) + `
const closed = ` + fmt.Sprint(h.Closed) + `
export const StetGuard = async ({ client, directory }) => {
  const tell = async (event, what, seconds = ` + fmt.Sprint(hookTimeout) + `) => {
    try {
      const r = await fetch(url + event + (closed ? "?closed" : ""), {
        method: "POST", headers: { authorization: "Bearer " + token }, body: JSON.stringify({ dir: directory, ...what }),
        signal: AbortSignal.timeout(seconds * 1000),
      })
      if (!r.ok) throw new Error(await r.text())
      return await r.json()
    } catch (e) {
      if (closed && event === "before") return { deny: "stet guard does not answer: " + e.message }
      return {}
    }
  }
  const asked = new Map() // the calls that opencode asks its person about
  const ask = async (p) => {
    const what = { session: p.sessionID, call: p.tool?.callID, tool: p.permission, args: p.metadata }
    asked.set(p.id, what)
    const answer = await tell("ask", what, 86400)
    if (!asked.has(p.id)) return
    const body = answer.allow ? { reply: "once" } : answer.deny ? { reply: "reject", message: answer.deny } : undefined
    if (body) await client._client.post({ url: "/permission/" + p.id + "/reply", body, headers: { "content-type": "application/json" } })
  }
  await tell("start", {})
  return {
    "chat.message": async (input, output) => {
      const text = output.parts.filter((p) => p.type === "text").map((p) => p.text).join("\n")
      await tell("prompt", { session: input.sessionID, prompt: text })
    },
    "tool.execute.before": async (input, output) => {
      const answer = await tell("before", { session: input.sessionID, call: input.callID, tool: input.tool, args: output.args }, ` + fmt.Sprint(h.timeout("PreToolUse", true)) + `)
      if (answer.deny) throw new Error(answer.deny)
    },
    "tool.execute.after": async (input, output) => {
      await tell("after", { session: input.sessionID, call: input.callID, tool: input.tool, args: input.args, output: output?.output })
    },
    event: async ({ event }) => {
      const p = event.properties
      if (event.type === "session.idle") await tell("idle", { session: p.sessionID })
      if (event.type === "permission.asked") ask(p) // beside opencode's own dialog
      if (event.type === "permission.replied") {
        const what = asked.get(p.requestID ?? p.permissionID)
        asked.delete(p.requestID ?? p.permissionID)
        if (what) await tell((p.reply ?? p.response) === "reject" ? "rejected" : "answered", what)
      }
    },
  }
}
`
}

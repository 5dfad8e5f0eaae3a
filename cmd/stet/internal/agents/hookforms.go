package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/server/guard"
)

// This file has how the hooks of agents speak that run a command or ask a server at each event: what they are given, and what they print.

// hookEvents are the events of all these agents, in the order in which they are written.
var hookEvents = []string{
	"SessionStart", "UserPromptSubmit", "BeforeAgent", "PreToolUse", "BeforeTool", "PermissionRequest", "PostToolUse", "AfterTool", "PostToolUseFailure", "Stop",
	"AfterAgent", "SubagentStop", "SessionEnd",
}

// speech is how the hooks of an agent speak.
type speech struct {
	agent string
	kinds map[string]guard.Kind // of its events

	ask guard.Dialog // how it asks its person: at the event for that
	// before says that it can be made to ask its person also at the event before a call.
	before bool
	serial bool          // it runs its calls that can change something one after the other
	edits  guard.Kind    // the event at which it takes changed arguments
	most   time.Duration // how long it waits for a hook at most, whatever is configured; 0: no limit

	hooks func(h Hooks, s *speech) map[string]any // the entries of its file
	print func(e guard.Event, a guard.Answer) any // what a hook prints; nil: nothing

	rename func(in *hookInput) // gives what it sends the names of the others; nil: it has them
}

// claudeKinds are the events of Claude Code. Other agents have some of them under the same names.
var claudeKinds = map[string]guard.Kind{
	"SessionStart": guard.Started, "UserPromptSubmit": guard.Prompted, "PreToolUse": guard.Before, "PermissionRequest": guard.Asking,
	"PostToolUse": guard.After, "PostToolUseFailure": guard.After, "Stop": guard.Stopped, "SubagentStop": guard.Stopped, "SessionEnd": guard.Stopped,
}

// claudeSpeech: Claude Code asks next to its hooks, unless it runs without a person (with -p, or from an SDK).
var claudeSpeech = speech{agent: "claude", kinds: claudeKinds, ask: guard.Beside, before: true, serial: true, edits: guard.Asking, hooks: claudeHooks, print: printClaude}

// codexSpeech: Codex asks after its hooks, and runs a call whose hook before it says anything but a denial.
var codexSpeech = speech{
	agent: "codex", ask: guard.AfterHook, hooks: commandHooks(time.Second),
	kinds: map[string]guard.Kind{
		"SessionStart": guard.Started, "UserPromptSubmit": guard.Prompted, "PreToolUse": guard.Before, "PermissionRequest": guard.Asking,
		"PostToolUse": guard.After, "Stop": guard.Stopped,
	},
	print: func(e guard.Event, a guard.Answer) any {
		if e.Kind == guard.Before && a.Action != policy.Deny || !a.Decided && a.Say == "" {
			return nil
		}
		return printClaude(e, a)
	},
}

// qwenSpeech: Qwen Code asks after its hooks, and reports a call only when the call may run. It ends each hook after 60 s.
var qwenSpeech = speech{
	agent: "qwen", kinds: claudeKinds, ask: guard.AfterHook, before: true, edits: guard.Asking, most: 50 * time.Second,
	hooks: commandHooks(time.Millisecond), print: printClaude,
}

// geminiSpeech: Gemini CLI has no event that decides when it asks its person.
var geminiSpeech = speech{
	agent: "gemini", edits: guard.Before, hooks: commandHooks(time.Millisecond),
	kinds: map[string]guard.Kind{
		"SessionStart": guard.Started, "BeforeAgent": guard.Prompted, "BeforeTool": guard.Before, "AfterTool": guard.After, "AfterAgent": guard.Stopped,
		"SessionEnd": guard.Stopped,
	},
	print: func(e guard.Event, a guard.Answer) any {
		switch {
		case a.Decided && a.Action == policy.Deny:
			return map[string]any{"decision": "deny", "reason": a.Reason}
		case a.Input != nil:
			return map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": "BeforeTool", "tool_input": a.Input}}
		case a.Say != "":
			return map[string]any{"systemMessage": a.Say}
		}
		return nil
	},
}

// copilotSpeech: Copilot CLI has an event for its questions, but sends it for each call, also for calls that it would not ask about. So that event is not used.
var copilotSpeech = speech{
	agent: "copilot", ask: guard.AfterHook, before: true, edits: guard.Before, rename: (*hookInput).copilot,
	kinds: map[string]guard.Kind{
		"sessionStart": guard.Started, "userPromptSubmitted": guard.Prompted, "preToolUse": guard.Before, "postToolUse": guard.After,
		"postToolUseFailure": guard.After, "agentStop": guard.Stopped, "sessionEnd": guard.Stopped,
	},
	print: func(_ guard.Event, a guard.Answer) any {
		switch {
		case a.Decided && a.Action != policy.Allow:
			return map[string]any{"permissionDecision": a.Action.String(), "permissionDecisionReason": a.Reason}
		case a.Input != nil:
			return map[string]any{"modifiedArgs": a.Input}
		}
		return nil
	},
}

// copilotFile returns the whole file of Copilot's hooks. If a hook before a call fails, Copilot CLI refuses the call.
func copilotFile(h Hooks) string {
	s, all := &copilotSpeech, map[string]any{}
	for event := range s.kinds {
		arg, unix, windows := event, " || exit 0", "; exit 0"
		if h.Closed && event == "preToolUse" {
			arg, unix, windows = event+"?closed", "", ""
		}
		all[event] = []any{map[string]any{
			"type": "command", "timeoutSec": int(s.timeout(h, event) / time.Second), "bash": h.command(s.agent, arg) + unix,
			"powershell": "& '" + strings.ReplaceAll(h.Program, "'", "''") + "' hook " + s.agent + " '" + arg + "'" + windows,
		}}
	}
	b, _ := json.MarshalIndent(map[string]any{"version": 1, "hooks": all}, "", "  ") // strings
	return string(b) + "\n"
}

// event returns the name of the event of a kind.
func (s *speech) event(k guard.Kind) string {
	for name, kind := range s.kinds {
		if kind == k {
			return name
		}
	}
	return ""
}

// timeout returns how long the agent is to wait for the hook of an event: a little longer than the guard waits for a person.
func (s *speech) timeout(h Hooks, event string) time.Duration {
	wait := hookTimeout
	switch kind := s.kinds[event]; {
	case kind == guard.Asking && s.ask == guard.Beside:
		wait += 24 * time.Hour
	case kind == guard.Asking, kind == guard.Before && s.before && s.ask == guard.AfterHook:
		wait += h.Pause
	case kind == guard.Before:
		wait += h.Wait
	}
	return wait
}

func claudeHooks(h Hooks, s *speech) map[string]any {
	all := map[string]any{}
	for event := range s.kinds {
		hook := map[string]any{
			"type": "http", "url": h.URL + "/claude/" + event, "timeout": int(s.timeout(h, event) / time.Second),
			"headers":        map[string]any{"Authorization": "Bearer " + h.Token, "Stet-Entry": "$CLAUDE_CODE_ENTRYPOINT"},
			"allowedEnvVars": []any{"CLAUDE_CODE_ENTRYPOINT"},
		}
		if event == "SessionStart" { // Claude Code runs only commands there
			hook = s.command(h, event, time.Second)
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

// commandHooks are the hooks of an agent that runs a command for each event. unit is that of its timeouts.
func commandHooks(unit time.Duration) func(Hooks, *speech) map[string]any {
	return func(h Hooks, s *speech) map[string]any {
		all := map[string]any{}
		for event := range s.kinds {
			all[event] = map[string]any{"hooks": []any{s.command(h, event, unit)}}
		}
		return all
	}
}

// command is a hook that runs stet.
func (s *speech) command(h Hooks, event string, unit time.Duration) map[string]any {
	return map[string]any{"type": "command", "command": h.command(s.agent, event), "timeout": int(s.timeout(h, event) / unit)}
}

// command returns the command line of the hook of an event.
func (h Hooks) command(agent, event string) string {
	return ShellWord(h.Program) + " hook " + agent + " " + ShellWord(event)
}

// hookInput is what hooks are given: those of Claude Code and of agents that follow it. Qwen Code has an id of its own for a call next to that of
// the model. Copilot CLI has other names.
type hookInput struct {
	SessionID string          `json:"session_id"`
	Cwd       string          `json:"cwd"`
	Tool      string          `json:"tool_name"`
	Input     json.RawMessage `json:"tool_input"`
	CallID    string          `json:"tool_use_id"`
	ModelID   string          `json:"tool_call_id"`
	SubAgent  string          `json:"agent_id"`
	Response  json.RawMessage `json:"tool_response"`
	Prompt    string          `json:"prompt"`
	Source    string          `json:"source"`           // of a session's start: startup, resume, compact or clear
	Tasks     json.RawMessage `json:"background_tasks"` // of the end of a turn: what goes on

	CopilotSession string          `json:"sessionId"`
	CopilotTool    string          `json:"toolName"`
	CopilotArgs    json.RawMessage `json:"toolArgs"`
	CopilotResult  json.RawMessage `json:"toolResult"`
}

// copilot gives what Copilot CLI sends the names of the others. Arguments may be JSON in a string; those of a patch are its text. Without an id, a
// session is the one in its directory.
func (in *hookInput) copilot() {
	in.SessionID, in.Tool, in.Input, in.Response = cmp.Or(in.CopilotSession, in.Cwd), in.CopilotTool, in.CopilotArgs, in.CopilotResult
	var text string
	if json.Unmarshal(in.Input, &text) != nil {
		return
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) == nil && object != nil {
		in.Input = json.RawMessage(text)
	} else {
		in.Input, _ = json.Marshal(map[string]string{"input": text}) // strings
	}
}

// failed reports whether an agent's answer of a tool says that the call failed: an error, or a kind of result other than success.
func failed(response json.RawMessage) bool {
	var r struct {
		Error      any    `json:"error"`
		ResultType string `json:"resultType"`
	}
	return json.Unmarshal(response, &r) == nil && (r.Error != nil && r.Error != "" || r.ResultType != "" && r.ResultType != "success")
}

func (s *speech) form() guard.Form { return guard.Form{Read: s.read, Write: s.write} }

func (s *speech) read(event, entry string, body []byte) (guard.Event, error) {
	var in hookInput
	if err := json.Unmarshal(body, &in); err != nil {
		return guard.Event{}, fmt.Errorf("hook %s: %w", event, err)
	}
	if s.rename != nil {
		s.rename(&in)
	}
	kind := s.kinds[event]
	if kind == guard.Other {
		return guard.Event{}, fmt.Errorf("there is no event %q", event)
	}
	if kind == guard.Before && in.Tool == "" {
		return guard.Event{}, fmt.Errorf("hook %s: there is no name of a tool, so no rule can decide", event)
	}
	e := guard.Event{
		Kind: kind, Session: in.SessionID, SubAgent: in.SubAgent, Call: cmp.Or(in.ModelID, in.CallID), Tool: in.Tool, Input: in.Input, Dir: in.Cwd,
		Prompt: in.Prompt, Anew: kind == guard.Started && (in.Source == "compact" || in.Source == "clear"), Failed: strings.EqualFold(event, "PostToolUseFailure") || failed(in.Response),
		Serial: s.serial, Output: guard.Texts(in.Response), Edits: kind == s.edits, Most: s.most,
	}
	var tasks []struct {
		ID string `json:"id"` // of a sub-agent: its agent_id
	}
	_ = json.Unmarshal(in.Tasks, &tasks) // in another form, none goes on
	for _, task := range tasks {
		e.Running = append(e.Running, task.ID)
	}
	if alone := s.ask == guard.Beside && strings.HasPrefix(entry, "sdk"); !alone && (kind == guard.Asking || s.before) {
		e.Dialog = s.ask
	}
	return e, nil
}

func (s *speech) write(e guard.Event, a guard.Answer) []byte {
	out := s.print(e, a)
	if out == nil {
		return nil
	}
	b, _ := json.Marshal(out) // strings, and JSON that was read
	return b
}

// printClaude is what the hooks of Claude Code print.
func printClaude(e guard.Event, a guard.Answer) any {
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
	case a.Decided:
		out["hookSpecificOutput"] = map[string]any{
			"hookEventName": "PreToolUse", "permissionDecision": a.Action.String(), "permissionDecisionReason": a.Reason,
		}
	case a.Say != "":
		out["systemMessage"] = a.Say
	}
	return out
}

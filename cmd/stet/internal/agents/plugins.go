package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/server/guard"
)

// This file has the plugins: programs that an agent loads, which tell the guard of each call.

// pluginInput is what a plugin sends.
type pluginInput struct {
	Session string          `json:"session"`
	Call    string          `json:"call"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"`
	Dir     string          `json:"dir"`
	Prompt  string          `json:"prompt"`
	Output  string          `json:"output"`
	Failed  bool            `json:"failed"`
}

// pluginForm is how the plugins speak. Both agents take changed arguments before a call, and opencode asks next to its plugin.
var pluginForm = guard.Form{Read: readPlugin, Write: writePlugin}

func readPlugin(event, _ string, body []byte) (guard.Event, error) {
	kinds := map[string]guard.Kind{
		"start": guard.Started, "prompt": guard.Prompted, "before": guard.Before, "ask": guard.Asking, "answered": guard.Settled, "rejected": guard.Settled,
		"after": guard.After, "idle": guard.Stopped,
	}
	var in pluginInput
	if err := json.Unmarshal(body, &in); err != nil {
		return guard.Event{}, err
	}
	if kinds[event] == guard.Other {
		return guard.Event{}, errors.New("there is no event " + event)
	}
	e := guard.Event{
		Kind: kinds[event], Session: in.Session, Call: in.Call, Tool: in.Tool, Input: in.Args, Dir: in.Dir, Prompt: in.Prompt,
		Failed: in.Failed || event == "rejected", Output: in.Output, Edits: kinds[event] == guard.Before,
	}
	if e.Kind == guard.Asking {
		e.Dialog = guard.Beside
	}
	return e, nil
}

func writePlugin(e guard.Event, a guard.Answer) []byte {
	out := map[string]any{}
	switch {
	case a.Decided && a.Action == policy.Deny:
		out["deny"] = a.Reason
	case a.Decided && a.Action == policy.Allow && e.Kind == guard.Asking:
		out["allow"] = "once"
	case a.Input != nil:
		out["input"] = a.Input
	case a.Say != "":
		out["say"] = a.Say
	}
	b, _ := json.Marshal(out) // strings, and JSON that was read
	return b
}

// pluginMark begins each plugin; pluginClosed is in those that fail closed.
const (
	pluginMark   = "// stet guard: tells stet of each call. "
	pluginClosed = "const closed = true"
)

// plugin returns the text of a plugin: code, in which tell(event, what, seconds) reports an event and returns the guard's answer, and WAIT is how long
// a call may wait, in seconds.
func plugin(agent, code string) func(Hooks) string {
	return func(h Hooks) string {
		quoted := func(s string) string { b, _ := json.Marshal(s); return string(b) }
		seconds := func(d time.Duration) string { return fmt.Sprint(int(d / time.Second)) }
		return pluginMark + `"stet guard ` + agent + ` --remove" removes this file.` + "\n" +
			"const url = " + quoted(h.URL+"/"+agent+"/") + ", token = " + quoted(h.Token) + "\n" +
			"const closed = " + fmt.Sprint(h.Closed) + "\n" +
			strings.NewReplacer("SHORT", seconds(hookTimeout), "WAIT", seconds(hookTimeout+h.Wait)).Replace(pluginTells+code)
	}
}

const pluginTells = `const tell = async (event, what, seconds = SHORT) => {
  try {
    const r = await fetch(url + event + (closed ? "?closed" : ""), {
      method: "POST", headers: { authorization: "Bearer " + token }, body: JSON.stringify(what), signal: AbortSignal.timeout(seconds * 1000),
    })
    if (!r.ok) throw new Error(await r.text())
    return await r.json()
  } catch (e) {
    if (closed && event === "before") return { deny: "stet guard does not answer: " + e.message }
    return {}
  }
}
`

const opencodePlugin = `export const StetGuard = async ({ client, directory: dir }) => {
  const asked = new Map() // the calls that opencode asks its person about
  const ask = async (p) => {
    const what = { dir, session: p.sessionID, call: p.tool?.callID, tool: p.permission, args: p.metadata }
    asked.set(p.id, what)
    const answer = await tell("ask", what, 86400)
    if (!asked.has(p.id)) return
    const body = answer.allow ? { reply: "once" } : answer.deny ? { reply: "reject", message: answer.deny } : undefined
    if (body) await client._client.post({ url: "/permission/" + p.id + "/reply", body, headers: { "content-type": "application/json" } })
  }
  await tell("start", { dir })
  return {
    "chat.message": async (input, output) => {
      const text = output.parts.filter((p) => p.type === "text").map((p) => p.text).join("\n")
      await tell("prompt", { dir, session: input.sessionID, prompt: text })
    },
    "tool.execute.before": async (input, output) => {
      const answer = await tell("before", { dir, session: input.sessionID, call: input.callID, tool: input.tool, args: output.args }, WAIT)
      if (answer.deny) throw new Error(answer.deny)
      if (answer.input) Object.assign(output.args, answer.input)
    },
    "tool.execute.after": async (input, output) => {
      await tell("after", { dir, session: input.sessionID, call: input.callID, tool: input.tool, args: input.args, output: output?.output })
    },
    event: async ({ event }) => {
      const p = event.properties
      if (event.type === "session.idle") await tell("idle", { dir, session: p.sessionID })
      if (event.type === "permission.asked") ask(p) // next to opencode's own dialog
      if (event.type === "permission.replied") {
        const what = asked.get(p.requestID ?? p.permissionID)
        asked.delete(p.requestID ?? p.permissionID)
        if (what) await tell((p.reply ?? p.response) === "reject" ? "rejected" : "answered", what)
      }
    },
  }
}
`

const piPlugin = `export default function (pi) {
  const of = (ctx) => ({ dir: ctx.cwd, session: ctx.sessionManager.getSessionId() })
  const call = (e) => ({ call: e.toolCallId, tool: e.toolName, args: e.input })
  pi.on("session_start", async (_, ctx) => {
    const answer = await tell("start", of(ctx))
    if (answer.say && ctx.hasUI) ctx.ui.notify(answer.say, "warning")
  })
  pi.on("before_agent_start", async (e, ctx) => { await tell("prompt", { ...of(ctx), prompt: e.prompt ?? "" }) })
  pi.on("tool_call", async (e, ctx) => {
    const answer = await tell("before", { ...of(ctx), ...call(e) }, WAIT)
    if (answer.deny) return { block: true, reason: answer.deny }
    if (answer.input) Object.assign(e.input, answer.input)
  })
  pi.on("tool_result", async (e, ctx) => {
    const output = e.content.filter((p) => p.type === "text").map((p) => p.text).join("\n")
    await tell("after", { ...of(ctx), ...call(e), output, failed: e.isError })
  })
  pi.on("agent_end", async (_, ctx) => { await tell("idle", of(ctx)) })
  pi.on("session_shutdown", async (_, ctx) => { await tell("idle", of(ctx)) })
}
`

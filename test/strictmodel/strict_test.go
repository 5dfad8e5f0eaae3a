package strictmodel_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/strictmodel"
)

// provider is a strict server whose model thinks, and calls a tool in every second answer.
type provider struct {
	*testing.T
	*llmtest.Server
}

func startProvider(t *testing.T, account strictmodel.Account) provider {
	t.Helper()
	server, err := strictmodel.Start(llmtest.Config{Rules: &strictmodel.Rules{Account: account}, Handler: func(req *llm.Request) (llm.Response, error) {
		n := 0
		for _, m := range req.Messages {
			if m.Role == llm.Assistant {
				n++
			}
		}
		parts := []llm.Part{
			{Kind: llm.Thinking, Text: fmt.Sprintf("hm %d", n)}, {Kind: llm.Opaque, Raw: `{"type":"redacted_thinking","data":"x"}`}, {Text: fmt.Sprintf("well %d", n)},
		}
		if n%2 == 0 {
			parts = append(parts, llm.Part{Kind: llm.ToolCall, CallID: fmt.Sprintf("toolu_%d", n), Name: "a", Args: fmt.Sprintf(`{"n":%d}`, n)})
		}
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: parts}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return provider{t, server}
}

// post sends a request, and returns the status and the body of the answer.
func (p provider) post(path, body, betas string) (int, string) {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), http.MethodPost, p.URL+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	if betas != "" {
		r.Header.Set("Anthropic-Beta", betas)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// ask sends a request that must succeed, and returns the answer.
func (p provider) ask(body, betas string) map[string]any {
	p.Helper()
	status, text := p.post("/v1/messages", body, betas)
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil || status != 200 {
		p.Fatalf("%d %s: %v", status, text, err)
	}
	return out
}

// asMessage returns an answer as a message for the next request.
func asMessage(answer map[string]any) string {
	content, err := json.Marshal(answer["content"])
	if err != nil {
		panic(err)
	}
	return `{"role":"assistant","content":` + string(content) + `}`
}

// withoutThinking returns a message of asMessage without its blocks of thinking.
func withoutThinking(message string) string {
	var m struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal([]byte(message), &m); err != nil {
		panic(err)
	}
	var kept []string
	for _, b := range m.Content {
		if !strings.Contains(string(b), `thinking"`) {
			kept = append(kept, string(b))
		}
	}
	return `{"role":"assistant","content":[` + strings.Join(kept, ",") + `]}`
}

// talk is a conversation with three answers: messages 1, 3 and 5 are the model's.
type talk struct {
	head     string
	messages []string
}

func (c talk) body() string { return c.head + `,"messages":[` + strings.Join(c.messages, ",") + `]}` }

const talkTools = `{"name":"b","input_schema":{}},{"name":"a","input_schema":{}},{"name":"later","input_schema":{},"defer_loading":true}`

func (p provider) talk(model string) talk {
	p.Helper()
	c := talk{
		head:     `{"model":"` + model + `","max_tokens":9,"system":"Help.","tools":[` + talkTools + `]`,
		messages: []string{`{"role":"user","content":"one"}`},
	}
	for _, next := range []string{
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_0","content":"a long result"}]}`,
		`{"role":"user","content":"three"},{"role":"system","content":"Be brief.","clear_at":"next_user_message"}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2","content":"found"}],"output_config":{"effort":"low"}}`,
	} {
		c.messages = append(c.messages, asMessage(p.ask(c.body(), "")), next)
	}
	return c
}

const (
	opus   = "claude-opus-5-5"
	moved  = "bound to a different conversation"
	forged = "Invalid `signature` in `thinking` block\""
)

// The content before a block of thinking is checked (WIRE-1). The cases are from the page "Preserved thinking", section "What
// counts as an edit", and from the page "Prefix checks on thinking blocks".
func TestPrefixOfThinking(t *testing.T) {
	p := startProvider(t, "")
	c := p.talk(opus)
	whole := c.body()
	without := func(indices ...int) string {
		d := talk{c.head, append([]string(nil), c.messages...)}
		for _, i := range indices {
			d.messages[i] = withoutThinking(d.messages[i])
		}
		return d.body()
	}
	edit := func(old, new string) string {
		t.Helper()
		if !strings.Contains(whole, old) {
			t.Fatalf("%s is not in %s", old, whole)
		}
		return strings.Replace(whole, old, new, 1)
	}
	for name, row := range map[string]struct{ body, at, says string }{
		"appended":                        {whole, "", ""},
		"cache markers":                   {edit(`"content":"one"`, `"content":[{"type":"text","text":"one","cache_control":{"type":"ephemeral"}}]`), "", ""},
		"parameters":                      {edit(`"max_tokens":9`, `"max_tokens":10,"tool_choice":{"type":"auto"},"metadata":{"user_id":"u"},"output_config":{"effort":"high"},"thinking":{"type":"adaptive","display":"omitted"}`), "", ""},
		"tools in another order":          {edit(`{"name":"b","input_schema":{}},{"name":"a","input_schema":{}}`, `{"name":"a","input_schema":{}},{"name":"b","input_schema":{}}`), "", ""},
		"a deferred tool more":            {edit(`"tools":[`, `"tools":[{"name":"more","input_schema":{},"defer_loading":true},`), "", ""},
		"a deferred tool less":            {edit(`,{"name":"later","input_schema":{},"defer_loading":true}`, ``), "", ""},
		"no thinking at the start":        {without(1), "", ""},
		"no thinking at the start, twice": {without(1, 3), "", ""},
		"no thinking at the end":          {without(5), "", ""},
		"no thinking":                     {without(1, 3, 5), "", ""},

		"a tool_result shortened":        {edit("a long result", "a result"), "messages.3.content.0", moved},
		"an input changed":               {edit(`"input":{"n":0}`, `"input":{"n":9}`), "messages.3.content.0", moved},
		"a first message rendered again": {edit(`"one"`, `"1"`), "messages.1.content.0", moved},
		"a later message edited":         {edit(`"three"`, `"3"`), "messages.6.content.0", moved},
		"a text of the model edited":     {edit(`"well 0"`, `"well"`), "messages.3.content.0", moved},
		"a text added to a user's turn":  {edit(`"content":"a long result"}]`, `"content":"a long result"},{"type":"text","text":"mind this"}]`), "messages.3.content.0", moved},
		"a message deleted":              {edit(`,{"role":"user","content":"three"}`, ``), "messages.5.content.0", moved},
		"messages in another order":      {edit(`{"role":"user","content":"three"},{"role":"system","content":"Be brief.","clear_at":"next_user_message"}`, `{"role":"system","content":"Be brief.","clear_at":"next_user_message"},{"role":"user","content":"three"}`), "messages.6.content.0", moved},
		"a system message reworded":      {edit("Be brief.", "Be short."), "messages.6.content.0", moved},
		"clear_at gone":                  {edit(`,"clear_at":"next_user_message"`, ``), "messages.6.content.0", moved},
		"system":                         {edit("Help.", "Help!"), "messages.1.content.0", "The `system` prompt differs"},
		"a tool more":                    {edit(`"tools":[`, `"tools":[{"name":"more","input_schema":{}},`), "messages.1.content.0", moved},
		"a tool less":                    {edit(`{"name":"b","input_schema":{}},`, ``), "messages.1.content.0", moved},
		"a tool edited":                  {edit(`{"name":"b","input_schema":{}}`, `{"name":"b","description":"new","input_schema":{}}`), "messages.1.content.0", moved},
		"no thinking in the middle":      {without(3), "messages.6.content.0", moved},

		// Page "Tool and multi-turn workflows": thinking is sent back unchanged. The provider accepts a changed text of a signed
		// summary. This server does not, because a program between agent and provider must not change it.
		"thinking in other words": {edit(`"hm 0"`, `"hmm"`), "messages.1.content.0", forged},
		"a signature made up":     {edit(`"signature":"ey`, `"signature":"fy`), "messages.1.content.0", forged},
		"no signature":            {edit(`"signature":"ey`, `"other":"ey`), "messages.1.content.0", "thinking.signature: Field required"},
	} {
		// Page "Token counting": the same check gives the same error 400.
		for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
			status, text := p.post(path, row.body, "")
			if row.at != "" && (status != 400 || !strings.Contains(text, row.at) || !strings.Contains(unquoted(text), row.says) || !strings.Contains(text, "invalid_request_error")) || row.at == "" && status != 200 {
				t.Errorf("%s, %s: %d %s, want %s %s", name, path, status, text, row.at, row.says)
			}
		}
	}

	// "Put back a thinking block you removed": thinking that was made without the block is invalid.
	d := talk{c.head, append([]string(nil), c.messages[:3]...)}
	d.messages[1] = withoutThinking(d.messages[1])
	d.messages = append(d.messages, asMessage(p.ask(d.body(), "")), c.messages[4])
	if status, text := p.post("/v1/messages", d.body(), ""); status != 200 {
		t.Errorf("removed: %d %s", status, text)
	}
	d.messages[1] = c.messages[1]
	if status, text := p.post("/v1/messages", d.body(), ""); status != 400 || !strings.Contains(text, "messages.3.content.0") {
		t.Errorf("put back: %d %s", status, text)
	}

	// A deferred tool counts from the place where it is named.
	named := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"tool_reference","tool_name":"later"}]}]}`
	d = talk{c.head, append(append([]string(nil), c.messages[:6]...), named)}
	d.messages = append(d.messages, asMessage(p.ask(d.body(), "")), `{"role":"user","content":"on"}`)
	if status, text := p.post("/v1/messages", d.body(), ""); status != 200 {
		t.Errorf("a deferred tool is named: %d %s", status, text)
	}
	d.head = strings.Replace(d.head, `"name":"later"`, `"name":"later","description":"new"`, 1)
	if status, text := p.post("/v1/messages", d.body(), ""); status != 400 || !strings.Contains(text, "messages.8.content.0") {
		t.Errorf("a deferred tool changes after it was named: %d %s", status, text)
	}
}

// unquoted returns the text of an error with unescaped quotes.
func unquoted(text string) string { return strings.ReplaceAll(text, `\"`, `"`) }

// The handling of a block that is bound to other content: page "Preserved thinking", sections "What the API does with an invalid
// block" and "When the API enforces the check".
func TestMismatch(t *testing.T) {
	const unset, failing, dropping, odd = "", `"error"`, `"drop_block"`, `"ignore"`
	// The thinking of message 1 is before the edit. Every later block is dropped.
	all := `[{"path":"messages.3.content.0","reason":"prefix_binding_mismatch","type":"KIND"},{"path":"messages.3.content.1","reason":"prefix_binding_mismatch","type":"KIND"},` +
		`{"path":"messages.6.content.0","reason":"prefix_binding_mismatch","type":"KIND"},{"path":"messages.6.content.1","reason":"prefix_binding_mismatch","type":"KIND"}]`
	dropped, allowed := strings.ReplaceAll(all, "KIND", "thinking_dropped"), strings.ReplaceAll(all, "KIND", "thinking_mismatch_allowed")
	for _, row := range []struct {
		account         strictmodel.Account
		model, behavior string
		beta, edited    bool
		want            string // the answer's input_transformations, or a part of the error 400
		status          int
	}{
		{strictmodel.NewAccount, opus, unset, false, false, "null", 200},
		{strictmodel.NewAccount, opus, unset, true, false, "[]", 200},
		{strictmodel.NewAccount, opus, unset, false, true, "That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header. Content before this block differs", 400},
		{strictmodel.NewAccount, opus, unset, true, true, "to \"drop_block\". Content before this block differs", 400},
		{strictmodel.NewAccount, opus, failing, true, true, moved, 400},
		{strictmodel.NewAccount, opus, dropping, true, true, dropped, 200},
		{strictmodel.NewAccount, opus, dropping, false, true, "block_binding: Extra inputs are not permitted", 400},
		{strictmodel.NewAccount, opus, odd, true, false, "Input should be 'error' or 'drop_block'", 400},
		{strictmodel.OldAccount, opus, unset, false, true, "null", 200},
		{strictmodel.OldAccount, opus, unset, true, true, allowed, 200},
		{strictmodel.OldAccount, opus, failing, true, true, moved, 400},
		{strictmodel.OldAccount, opus, dropping, true, true, dropped, 200},
		{strictmodel.NewAccount, "claude-sonnet-5", unset, true, true, "[]", 200},
		{strictmodel.NewAccount, "claude-sonnet-4-5", failing, true, true, "[]", 200},
		{strictmodel.NewAccount, "claude-mythos-5-1", unset, true, true, "[]", 200},
		{strictmodel.NewAccount, "claude-haiku-5-5", unset, false, true, moved, 400},
		{strictmodel.NewAccount, "us.anthropic.claude-opus-4-6-v1:0", unset, false, true, "null", 200},
		{strictmodel.NewAccount, "claude-opus-5-20260701", unset, false, true, "null", 200},
		{strictmodel.NewAccount, "claude-opus-5-6", unset, false, true, moved, 400},
		{strictmodel.NewAccount, "a-model-of-tomorrow", unset, false, true, moved, 400},
	} {
		t.Run(fmt.Sprintf("%s %s %s beta=%v edited=%v", row.account, row.model, row.behavior, row.beta, row.edited), func(t *testing.T) {
			p := startProvider(t, row.account)
			body, betas := p.talk(row.model).body(), ""
			if row.edited {
				body = strings.Replace(body, "a long result", "a result", 1)
			}
			if row.behavior != unset {
				body = strings.Replace(body, `"max_tokens":9`, `"max_tokens":9,"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":`+row.behavior+`}}`, 1)
			}
			if row.beta {
				betas = "other-beta," + strictmodel.BindingBeta
			}
			for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
				status, text := p.post(path, body, betas)
				if status != row.status || status == 400 && !strings.Contains(unquoted(text), row.want) {
					t.Fatalf("%s: %d %s, want %d %s", path, status, text, row.status, row.want)
				}
				if status != 200 || path != "/v1/messages" {
					continue
				}
				if got := transformations(t, text); got != row.want {
					t.Errorf("input_transformations %s, want %s", got, row.want)
				}
				_, text = p.post(path, strings.Replace(body, `"max_tokens"`, `"stream":true,"max_tokens"`, 1), betas)
				_, start, _ := strings.Cut(text, "event: message_start\ndata: ")
				start, _, _ = strings.Cut(start, "\n")
				var event struct{ Message json.RawMessage }
				if err := json.Unmarshal([]byte(start), &event); err != nil {
					t.Fatal(err)
				}
				if got := transformations(t, string(event.Message)); got != row.want {
					t.Errorf("in the stream: input_transformations %s, want %s", got, row.want)
				}
			}
		})
	}
}

func transformations(t *testing.T, message string) string {
	t.Helper()
	var m struct {
		All any `json:"input_transformations"`
	}
	if err := json.Unmarshal([]byte(message), &m); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(m.All) // it was decoded from JSON
	return string(text)
}

// Page "Prefix checks on thinking blocks": a change invalidates the existing thinking after it. New thinking stays valid as
// long as the requests keep the option.
func TestDroppedOnce(t *testing.T) {
	p := startProvider(t, "")
	c := p.talk(opus)
	c.head = strings.Replace(c.head, `"max_tokens":9`, `"max_tokens":9,"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`, 1)
	c.messages[2] = strings.Replace(c.messages[2], "a long result", "a result", 1)
	for range 3 {
		answer := p.ask(c.body(), strictmodel.BindingBeta)
		text, _ := json.Marshal(answer["input_transformations"])
		if n := strings.Count(string(text), "thinking_dropped"); n != 4 {
			t.Errorf("%d blocks are dropped: %s", n, text)
		}
		results := `{"role":"user","content":"on"}`
		if n := len(c.messages) / 2; n%2 == 0 {
			results = fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"ok"}]}`, n)
		}
		c.messages = append(c.messages, asMessage(answer), results)
	}
}

// Page "Preserved thinking", section "Switching models mid-conversation": a block that the model cannot read is dropped without
// an error, for every account. The model that made the block can still read it.
func TestModelsThatCannotRead(t *testing.T) {
	const fable, mythos, haiku, sonnet, opus5 = "claude-fable-5-1", "claude-mythos-5-1", "claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5"
	for _, row := range []struct {
		from, to string
		reads    bool
	}{
		{opus, opus, true}, {opus, "claude-opus-5-5-20261001", true}, {opus5, opus, true}, {"claude-sonnet-4-5", opus, true}, {opus5, fable, true},
		{opus, fable, true}, {opus, mythos, true}, {fable, mythos, true}, {mythos, fable, true}, {haiku, opus, true}, {haiku, "claude-sonnet-5", true},
		{fable, opus, false}, {mythos, opus, false}, {opus, opus5, false}, {opus, "claude-sonnet-5", false}, {fable, opus5, false}, {opus, sonnet, false}, {opus5, haiku, false},
	} {
		p := startProvider(t, strictmodel.OldAccount)
		c := p.talk(row.from)
		body := strings.Replace(c.body(), row.from, row.to, 1)
		if status, text := p.post("/v1/messages", body, ""); status != 200 || strings.Contains(text, "input_transformations") {
			t.Errorf("%s to %s: %d %s", row.from, row.to, status, text)
		}
		_, text := p.post("/v1/messages", body, strictmodel.BindingBeta)
		if n := strings.Count(text, `"reason":"model_binding_mismatch"`); n != map[bool]int{true: 0, false: 6}[row.reads] {
			t.Errorf("%s to %s: %d blocks are dropped", row.from, row.to, n)
		}
		c.head = strings.Replace(c.head, row.from, row.to, 1)
		c.messages = append(c.messages, asMessage(p.ask(c.body(), "")), `{"role":"user","content":"and back"}`)
		c.head = strings.Replace(c.head, row.to, row.from, 1)
		if status, text := p.post("/v1/messages", c.body(), ""); status != 200 {
			t.Errorf("%s to %s and back: %d %s", row.from, row.to, status, text)
		}
	}
}

// The order of blocks: pages "Handle tool calls" and "Tool and multi-turn workflows".
func TestOrderOfBlocks(t *testing.T) {
	p := startProvider(t, "")
	c := p.talk(opus)
	thinking := strings.TrimPrefix(strings.SplitN(c.messages[1], `{"data"`, 2)[0], `{"role":"assistant","content":[`)
	const use, result = `{"type":"tool_use","id":"u1","name":"a","input":{}}`, `{"type":"tool_result","tool_use_id":"u1","content":"r"}`
	user := func(blocks string) string { return `{"role":"user","content":[` + blocks + `]}` }
	model := func(blocks string) string { return `{"role":"assistant","content":[` + blocks + `]}` }
	for name, row := range map[string]struct {
		messages []string
		says     string
	}{
		"results follow":               {[]string{model(use), user(result + `,{"type":"text","text":"go on"}`)}, ""},
		"two messages of one role":     {[]string{model(`{"type":"text","text":"so"}`), model(use), user(result), `{"role":"user","content":"go on"}`}, ""},
		"a call without a result":      {[]string{model(use), user(`{"type":"text","text":"go on"}`)}, "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: u1. Each `tool_use` block must have a corresponding `tool_result` block in the next message."},
		"a call at the end":            {[]string{model(use)}, "messages.1: `tool_use` ids were found without"},
		"a result behind a text":       {[]string{model(use), user(`{"type":"text","text":"look:"},` + result)}, "messages.1: `tool_use` ids were found without"},
		"a result that comes late":     {[]string{model(use), user(`{"type":"text","text":"wait"}`), model(`{"type":"text","text":"so"}`), user(result)}, "messages.1: `tool_use` ids were found without"},
		"a result of no call":          {[]string{model(`{"type":"text","text":"so"}`), user(result)}, "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: u1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."},
		"two results of a call":        {[]string{model(use), user(result + "," + result)}, "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: u1"},
		"two calls of a name":          {[]string{model(use + "," + use), user(result)}, "messages.1.content.1: `tool_use` ids must be unique"},
		"an id again":                  {[]string{model(use), user(result), model(use), user(result)}, "messages.3.content.0: `tool_use` ids must be unique"},
		"thinking behind a text":       {[]string{model(`{"type":"text","text":"so"},` + thinking + use), user(result)}, "messages.1.content.0: If an assistant message contains any thinking blocks, the first block must be `thinking` or `redacted_thinking`. Found `text`."},
		"thinking at the end":          {[]string{model(strings.TrimSuffix(thinking, ",")), `{"role":"user","content":"go on"}`}, "messages.1: The final block in an assistant message cannot be `thinking`."},
		"a text of nothing":            {[]string{model(use), user(result + `,{"type":"text","text":""}`)}, "messages: text content blocks must be non-empty"},
		"a result of nothing is taken": {[]string{model(use), user(`{"type":"tool_result","tool_use_id":"u1"}`)}, ""},
	} {
		body := talk{c.head, append([]string{c.messages[0]}, row.messages...)}.body()
		for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
			status, text := p.post(path, body, "")
			if (row.says == "") != (status == 200) || !strings.Contains(unquoted(text), row.says) {
				t.Errorf("%s, %s: %d %s", name, path, status, text)
			}
		}
	}
}

// Pages "Context editing", "Compaction at a token threshold" and "Compaction on demand": the server's own changes do not count as
// edits, and a signed block counts as the messages that it replaces.
func TestServerEdits(t *testing.T) {
	p := startProvider(t, "")
	c := p.talk(opus)
	with := func(extra string) string {
		return strings.Replace(c.body(), `"max_tokens":9`, `"max_tokens":9,`+extra, 1)
	}
	clear := `{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":1},"keep":{"type":"tool_uses","value":1}}`
	answer := p.ask(with(`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"},`+clear+`]}`), strictmodel.ManagingBeta)
	edits, _ := json.Marshal(answer["context_management"])
	if !strings.Contains(string(edits), `"cleared_tool_uses":1`) {
		t.Errorf("applied %s", edits)
	}
	for name, row := range map[string]struct{ body, betas, says string }{
		"no beta":                  {with(`"context_management":{"edits":[` + clear + `]}`), "", "context_management: Extra inputs are not permitted"},
		"thinking is not first":    {with(`"context_management":{"edits":[` + clear + `,{"type":"clear_thinking_20251015"}]}`), strictmodel.ManagingBeta, "must be the first strategy"},
		"threshold without a beta": {with(`"context_management":{"edits":[{"type":"compact_20260112"}]}`), strictmodel.ManagingBeta, "Input tag 'compact_20260112'"},
		"demand without a beta":    {with(`"compaction":{"type":"summarize"}`), "", "compaction: Extra inputs are not permitted"},
		"demand beside edits":      {with(`"compaction":{"type":"summarize"},"context_management":{"edits":[` + clear + `]}`), strictmodel.DemandBeta + "," + strictmodel.ManagingBeta, "cannot be combined"},
	} {
		if status, text := p.post("/v1/messages", row.body, row.betas); status != 400 || !strings.Contains(text, row.says) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}

	// On demand: the block replaces messages 0 to 2. The thinking of the remaining turns stays valid.
	old := talk{strings.Replace(c.head, `"max_tokens":9`, `"max_tokens":9,"compaction":{"type":"summarize"}`, 1), c.messages[:3]}
	summary := p.ask(old.body(), strictmodel.DemandBeta)
	if summary["stop_reason"] != "compaction" {
		t.Fatalf("the answer to a request for a compaction: %v", summary)
	}
	kept := talk{c.head, append([]string{asMessage(summary)}, c.messages[3:]...)}
	if status, text := p.post("/v1/messages", kept.body(), strictmodel.DemandBeta); status != 200 {
		t.Errorf("after a compaction: %d %s", status, text)
	}
	for name, row := range map[string]struct{ body, betas, says string }{
		"a changed summary":     {strings.Replace(kept.body(), "What was said", "What is said", 1), strictmodel.DemandBeta, "compaction_content_mismatch"},
		"no beta":               {kept.body(), "", "`signature` requires anthropic-beta: " + strictmodel.DemandBeta},
		"not first":             {talk{c.head, append([]string{c.messages[0]}, kept.messages...)}.body(), strictmodel.DemandBeta, "compaction_block_misplaced"},
		"a kept result changed": {strings.Replace(kept.body(), `"three"`, `"3"`, 1), strictmodel.DemandBeta, moved},
		"a tool more":           {strings.Replace(kept.body(), `"tools":[`, `"tools":[{"name":"more","input_schema":{}},`, 1), strictmodel.DemandBeta, moved},
	} {
		if status, text := p.post("/v1/messages", row.body, row.betas); status != 400 || !strings.Contains(unquoted(text), row.says) {
			t.Errorf("compaction, %s: %d %s", name, status, text)
		}
	}
}

// A server compacts at a threshold. The content before the block is not checked, and may be left out.
func TestCompactionAtAThreshold(t *testing.T) {
	server, err := strictmodel.Start(llmtest.Config{Handler: func(*llm.Request) (llm.Response, error) {
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{
			{Kind: llm.Opaque, Raw: `{"type":"compaction","content":"much was said"}`}, {Kind: llm.Thinking, Text: "hm"}, {Text: "well"},
		}}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	p := provider{t, server}
	c := talk{`{"model":"` + opus + `","max_tokens":9,"context_management":{"edits":[{"type":"compact_20260112"}]}`, []string{`{"role":"user","content":"one"}`}}
	c.messages = append(c.messages, asMessage(p.ask(c.body(), strictmodel.ThresholdBeta)), `{"role":"user","content":"two"}`)
	for name, row := range map[string]struct {
		c    talk
		says string
	}{
		"whole":              {c, ""},
		"the old edited":     {talk{c.head, append([]string{`{"role":"user","content":"1"}`}, c.messages[1:]...)}, ""},
		"the old left out":   {talk{c.head, c.messages[1:]}, ""},
		"the summary edited": {talk{c.head, []string{strings.Replace(c.messages[1], "much", "little", 1), c.messages[2]}}, moved},
		"no strategy":        {talk{strings.Replace(c.head, "compact_20260112", "clear_tool_uses_20250919", 1), c.messages}, "`compaction` blocks require a `compact_20260112` strategy"},
	} {
		if status, text := p.post("/v1/messages", row.c.body(), strictmodel.ThresholdBeta); (row.says == "") != (status == 200) || !strings.Contains(text, row.says) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
}

// A server without rules accepts requests that the rules refuse.
func TestNoRules(t *testing.T) {
	server, err := llmtest.Start(llmtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	body := `{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"text","text":""},{"type":"thinking","thinking":"t","signature":"s"}]}]}`
	if status, text := (provider{t, server}).post("/v1/messages", body, ""); status != 200 {
		t.Errorf("%d %s", status, text)
	}
}

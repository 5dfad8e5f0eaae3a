package report

import (
	"fmt"
	"io"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
)

// Tokens is the output of `stet tokens --json`: a count of tokens with its shares.
type Tokens struct {
	File   string `json:"file"`
	Kind   string `json:"kind"` // text, request
	Model  string `json:"model,omitempty"`
	Method string `json:"method"` // how the text is counted: the exact vocabulary's name, or estimate
	// Estimated: the count is not exact. That of a request never is: what is around its texts is not public.
	Estimated bool         `json:"estimated"`
	API       string       `json:"api,omitempty"` // of a request: messages, chat, responses, gemini
	Bytes     int          `json:"bytes"`
	Tokens    int          `json:"tokens"`
	Tools     int          `json:"tools,omitempty"` // tokens of the descriptions of tools
	Shares    []tokenShare `json:"shares,omitempty"`
	Blocks    *blocks      `json:"blocks,omitempty"` // of a request
}

type tokenShare struct {
	Role   llm.Role `json:"role"`
	Kind   string   `json:"kind"`
	Parts  int      `json:"parts"`
	Tokens int      `json:"tokens"`
}

// Print writes the count for people.
func (t *Tokens) Print(w io.Writer) {
	if t.Kind == "text" {
		fmt.Fprintf(w, "%s in %s%s\n", Bold(Count(t.Tokens, "token")), Count(t.Bytes, "byte"), t.by())
		return
	}
	fmt.Fprintf(w, "%s in a request to the %s API%s\n\n", Bold(Count(t.Tokens, "token")), t.API, t.by())
	t.printShares(w)
}

// by returns the model for which the tokens were counted, and the method.
func (t *Tokens) by() string {
	how := t.Method
	if how == "estimate" {
		how = "estimated"
	} else if t.Estimated {
		how = "estimated; its text by " + how
	}
	if t.Model == "" {
		return " (" + how + ")"
	}
	return fmt.Sprintf(", %s (%s)", t.Model, how)
}

func (t *Tokens) printShares(w io.Writer) {
	line := func(role, kind, parts string, n int) {
		fmt.Fprintf(w, "%-11s %-9s %7s %12s %7s\n", role, kind, parts, Grouped(n), share(n, t.Tokens))
	}
	fmt.Fprintln(w, Faint(fmt.Sprintf("%-11s %-9s %7s %12s", "role", "kind", "parts", "tokens")))
	if t.Tools > 0 {
		line("tools", "", "", t.Tools)
	}
	for _, s := range t.Shares {
		line(string(s.Role), s.Kind, Grouped(s.Parts), s.Tokens)
	}
	if t.Blocks != nil {
		line("not text", "", Grouped(t.Blocks.Number), t.Blocks.Tokens)
	}
}

func shares(messages []llm.Message, c tokens.Counter) []tokenShare {
	names := map[llm.Kind]string{llm.Text: "text", llm.Thinking: "thinking", llm.ToolCall: "call", llm.ToolResult: "result", llm.Opaque: "other"}
	var all []tokenShare
	for _, s := range tokens.Shares(messages, c) {
		all = append(all, tokenShare{s.Role, names[s.Kind], s.Parts, s.Tokens})
	}
	return all
}

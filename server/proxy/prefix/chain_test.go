package prefix

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stet-dev/stet/llm"
)

// say returns a conversation; the first letter of each text is the role.
func say(texts ...string) (out []llm.Message) {
	roles := map[byte]llm.Role{'s': llm.System, 'u': llm.User, 'a': llm.Assistant, 't': llm.Tool}
	for _, text := range texts {
		out = append(out, llm.Message{Role: roles[text[0]], Parts: []llm.Part{{Text: text}}})
	}
	return out
}

// Agents leave out earlier thinking: the conversation is the same.
func TestChainWithoutThinking(t *testing.T) {
	with, without := say("s", "u1", "a1"), say("s", "u1", "a1")
	last := &with[len(with)-1]
	last.Parts = append([]llm.Part{{Kind: llm.Thinking, Text: "Let me see."}}, last.Parts...)
	if a, b := ChainOf(with, nil, 0), ChainOf(without, nil, 0); a.Last() != b.Last() {
		t.Error("another hash")
	}
}

// The hash of a conversation is the same in every process and every version, because stored records use it.
func TestChainIsStable(t *testing.T) {
	c := ChainOf(say("s", "u1", "a1"), nil, 0)
	if got := fmt.Sprintf("%016x %016x", c.System, c.Last()); got != "11d65e128f596621 f161b38795f33eec" {
		t.Errorf("%s: a change needs another table of turns", got)
	}
}

// A chain that continues another chain equals the chain of all messages, at any message where the two conversations differ.
func TestChainGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := func(name string) []string {
			return append([]string{"s"}, rapid.SliceOfN(rapid.SampledFrom([]string{"u1", "u2", "a1", "a2", "t1"}), 1, 6).Draw(t, name)...)
		}
		one, other := texts("first"), texts("then")
		same := 0
		for same < min(len(one), len(other)) && one[same] == other[same] {
			same++
		}
		before := ChainOf(say(one...), nil, 0)
		if diff := cmp.Diff(ChainOf(say(other...), nil, 0), ChainOf(say(other...), &before, same)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Parts that change with every request of a conversation are not measured.
func TestSizes(t *testing.T) {
	m := llm.Message{Role: llm.System, Parts: []llm.Part{
		{Text: "x-anthropic-billing-header: cch=1"}, {Text: "rules"}, {Kind: llm.Thinking, Text: "hm"}, {Kind: llm.ToolCall, Name: "ls", Args: "{}"},
	}}
	if n := TextSize(&m); n != len("rules")+len("ls")+len("{}") {
		t.Errorf("%d bytes", n)
	}
	req := new(llm.Request)
	req.AddTool("ls", "lists", nil)
	hash, size := Tools(req), ToolsSize(req)
	req.AddTool("far", "is searched for", nil)
	req.Tools[1].Deferred = true
	if Tools(req) != hash || ToolsSize(req) != size || size < len("ls")+len("lists") {
		t.Errorf("%d bytes, and %d with a tool that is deferred", size, ToolsSize(req))
	}
}

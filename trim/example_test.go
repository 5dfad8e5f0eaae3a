package trim_test

import (
	"fmt"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim"
)

// file returns what the tool Read shows of a file of 40 lines.
func file() string {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "%6d\tthe text of line %d of this file\n", i+1, i+1)
	}
	return b.String()
}

// read returns a call of the tool Read, and its result.
func read(id, path string) []llm.Message {
	return []llm.Message{
		{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: "Read", Args: `{"file_path":"` + path + `"}`}}},
		{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: file()}}},
	}
}

// An agent reads the same file twice. The second result becomes a pointer to the first.
// The conversation itself does not change.
func Example() {
	engine, err := trim.New(trim.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	conversation := []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "What does a.go do?"}}}}
	conversation = append(conversation, read("call_1", "a.go")...)
	conversation = append(conversation, read("call_2", "a.go")...)

	request, plan := engine.Build(conversation)
	fmt.Println(request[4].Parts[0].Text)
	for _, o := range plan.Omissions {
		fmt.Printf("message %d: %s: %d bytes became %d\n", o.Message, o.Reason, o.Before, o.After)
	}
	fmt.Println(len(conversation[4].Parts[0].Text), "bytes are stored")
	// Output:
	// [stet: a.go lines 1-40 unchanged: shown above by call_1 (lines 1-40). Ask again for the full text.]
	// message 4: repeat: 1591 bytes became 99
	// 1591 bytes are stored
}

// A caller that plans every request of one conversation keeps a State, which looks at each message once. At a cold point the
// provider's cache holds nothing, and old outputs of commands leave too.
func ExampleState() {
	engine, err := trim.New(trim.Config{KeepShell: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	state := engine.NewState()
	state.Add(llm.Message{Role: llm.User, Parts: []llm.Part{{Text: "Make the tests pass."}}})
	for i := range 8 {
		id, output := fmt.Sprintf("call_%d", i), strings.Repeat(fmt.Sprintf("ok for the %d. time\n", i), 3)
		output += strings.Repeat("=", 500)
		state.Add(
			llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: "Bash", Args: `{"command":"go test ./..."}`}}},
			llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: output}}},
		)
	}
	fmt.Println(len(state.Plan().Edits), "edits while the cache is alive")

	state.Cold(trim.Gap, 0)
	plan := state.Plan()
	fmt.Println(len(plan.Edits), "edits at a cold point")
	fmt.Println(plan.Edits[0].Text)
	// Output:
	// 0 edits while the cache is alive
	// 3 edits at a cold point
	// [stet: output of an older command left out: go test ./... Run it again if needed.]
}

package anthropic_test

import (
	"context"
	"fmt"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/llmtest"
)

// A model is asked, and its answer is printed while it arrives. The answer is sent back with the results of its calls, until
// there are no more calls.
func Example() {
	server := llmtest.New(llmtest.Script{Turns: []llmtest.Turn{
		llmtest.Say("I look it up.", llmtest.Call("lookup", `{"row":"41"}`)),
		llmtest.Say("Row 41 has one plant."),
	}})
	defer server.Close()

	var model llm.Model = endpoint.Client{API: anthropic.API, Config: endpoint.Config{BaseURL: server.URL, Key: "none", Model: "scripted"}}
	req := &llm.Request{Cache: &llm.Cache{}, Messages: []llm.Message{
		{Role: llm.User, Parts: []llm.Part{{Text: "How many plants are in row 41?"}}},
	}}
	req.AddTool("lookup", "look a row up", []byte(`{"type":"object","properties":{"row":{"type":"string"}}}`))
	for {
		res, err := model.Stream(context.Background(), req, func(e llm.Event) {
			if e.Kind == llm.TextDelta {
				fmt.Print(e.Text)
			}
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println()
		if res.Stop() != llm.StopCalls {
			return
		}
		results := llm.Message{Role: llm.Tool}
		for _, p := range res.Message.Parts {
			if p.Kind == llm.ToolCall {
				fmt.Println(p.Name, p.Args)
				results.Parts = append(results.Parts, llm.Part{Kind: llm.ToolResult, CallID: p.CallID, Text: "one plant"})
			}
		}
		req.Messages = append(req.Messages, res.Message, results)
	}
	// Output:
	// I look it up.
	// lookup {"row":"41"}
	// Row 41 has one plant.
}

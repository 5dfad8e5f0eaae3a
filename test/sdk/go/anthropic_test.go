package sdks

import (
	"context"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/stet-dev/stet/llm/llmtest"
)

func anthropicScenarios(ctx context.Context, base string, t *transcript) {
	client := anthropic.NewClient(option.WithBaseURL(base), option.WithAPIKey(key), option.WithMaxRetries(0))
	ask := anthropic.MessageNewParams{
		Model: "claude-scripted", MaxTokens: 1000,
		System:   []anthropic.TextBlockParam{{Text: "You tend a garden.", CacheControl: anthropic.NewCacheControlEphemeralParam()}},
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))},
	}
	lookup := anthropic.ToolParam{Name: "lookup", InputSchema: anthropic.ToolInputSchemaParam{Properties: schema}}

	models, err := client.Models.List(ctx, anthropic.ModelListParams{})
	if err == nil {
		t.add("anthropic models", models.Data, nil)
	} else {
		t.add("anthropic models", nil, err)
	}
	count, err := client.Messages.CountTokens(ctx, anthropic.MessageCountTokensParams{Model: ask.Model, Messages: ask.Messages})
	t.add("anthropic count", count, err)

	for _, stream := range []bool{false, true} {
		answer := func(p anthropic.MessageNewParams, opts ...option.RequestOption) (*anthropic.Message, int, error) {
			if !stream {
				m, err := client.Messages.New(ctx, p, opts...)
				return m, 0, err
			}
			events, m := 0, &anthropic.Message{}
			s := client.Messages.NewStreaming(ctx, p, opts...)
			defer s.Close()
			for s.Next() {
				events++
				if err := m.Accumulate(s.Current()); err != nil {
					return m, events, err
				}
			}
			return m, events, s.Err()
		}
		name := "anthropic"
		if stream {
			name += " streamed"
		}
		talk := ask
		talk.Tools = []anthropic.ToolUnionParam{{OfTool: &lookup}}
		for range 2 {
			m, events, err := answer(talk)
			t.add(name+" tools", map[string]any{"message": m, "events": events}, err)
			if err != nil {
				break
			}
			talk.Messages = append(talk.Messages, m.ToParam())
			var results []anthropic.ContentBlockParamUnion
			for _, block := range m.Content {
				if block.Type == "tool_use" {
					results = append(results, anthropic.NewToolResultBlock(block.ID, found, false))
				}
			}
			talk.Messages = append(talk.Messages, anthropic.NewUserMessage(results...))
		}
		for _, f := range faults {
			m, events, err := answer(ask, option.WithHeader(llmtest.FaultHeader, f.header))
			about := map[string]any{"events": events}
			if e, ok := asError[*anthropic.Error](err); ok {
				about["status"], about["body"] = status(e.Response), e.RawJSON()
			} else if err == nil {
				about["message"] = m
			}
			t.add(name+" "+f.name, about, err)
		}
	}
}

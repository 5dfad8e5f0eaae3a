package sdks

import (
	"context"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/stet-dev/stet/llm/llmtest"
)

var parameters = map[string]any{"type": "object", "properties": schema, "required": []string{"row"}}

func openaiClient(base string) openai.Client {
	return openai.NewClient(option.WithBaseURL(base+"/v1"), option.WithAPIKey(key), option.WithMaxRetries(0))
}

// failure returns what a caller can learn from an error.
func failure(err error, events int) map[string]any {
	about := map[string]any{"events": events}
	if e, ok := asError[*openai.Error](err); ok {
		about["status"], about["body"] = status(e.Response), e.RawJSON()
	}
	return about
}

func chatScenarios(ctx context.Context, base string, t *transcript) {
	client := openaiClient(base)
	ask := openai.ChatCompletionNewParams{Model: "scripted", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)}}

	models, err := client.Models.List(ctx)
	if err == nil {
		t.add("openai models", models.Data, nil)
	} else {
		t.add("openai models", nil, err)
	}
	for _, stream := range []bool{false, true} {
		answer := func(p openai.ChatCompletionNewParams, opts ...option.RequestOption) (*openai.ChatCompletion, int, error) {
			if !stream {
				c, err := client.Chat.Completions.New(ctx, p, opts...)
				return c, 0, err
			}
			p.StreamOptions.IncludeUsage = openai.Bool(true)
			events, acc := 0, openai.ChatCompletionAccumulator{}
			s := client.Chat.Completions.NewStreaming(ctx, p, opts...)
			defer s.Close()
			for s.Next() {
				events++
				acc.AddChunk(s.Current())
			}
			return &acc.ChatCompletion, events, s.Err()
		}
		name := "chat"
		if stream {
			name += " streamed"
		}
		talk := ask
		talk.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "lookup", Parameters: parameters})}
		for range 2 {
			c, events, err := answer(talk)
			if err != nil {
				t.add(name+" tools", nil, err)
				break
			}
			t.add(name+" tools", map[string]any{"choices": c.Choices, "usage": c.Usage, "events": events}, nil)
			talk.Messages = append(talk.Messages, c.Choices[0].Message.ToParam())
			for _, call := range c.Choices[0].Message.ToolCalls {
				talk.Messages = append(talk.Messages, openai.ToolMessage(found, call.ID))
			}
		}
		for _, f := range faults {
			_, events, err := answer(ask, option.WithHeader(llmtest.FaultHeader, f.header))
			t.add(name+" "+f.name, failure(err, events), err)
		}
	}
}

func responsesScenarios(ctx context.Context, base string, t *transcript) {
	client := openaiClient(base)
	ask := responses.ResponseNewParams{Model: "scripted", Store: openai.Bool(false)}
	ask.Input.OfInputItemList = responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(question, "user")}

	for _, stream := range []bool{false, true} {
		answer := func(p responses.ResponseNewParams, opts ...option.RequestOption) (*responses.Response, int, error) {
			if !stream {
				r, err := client.Responses.New(ctx, p, opts...)
				return r, 0, err
			}
			events, last := 0, &responses.Response{}
			s := client.Responses.NewStreaming(ctx, p, opts...)
			defer s.Close()
			for s.Next() {
				events++
				if e := s.Current(); e.Type == "response.completed" {
					last = &e.Response
				}
			}
			return last, events, s.Err()
		}
		name := "responses"
		if stream {
			name += " streamed"
		}
		talk := ask
		talk.Tools = []responses.ToolUnionParam{responses.ToolParamOfFunction("lookup", parameters, false)}
		for range 2 {
			r, events, err := answer(talk)
			if err != nil {
				t.add(name+" tools", nil, err)
				break
			}
			t.add(name+" tools", map[string]any{"text": r.OutputText(), "output": r.Output, "usage": r.Usage, "events": events}, nil)
			for _, item := range r.Output {
				if item.Type != "function_call" {
					continue
				}
				call := item.AsFunctionCall()
				result := responses.ResponseInputItemParamOfFunctionCallOutput(found)
				result.OfFunctionCallOutput.CallID = openai.String(call.CallID)
				talk.Input.OfInputItemList = append(talk.Input.OfInputItemList,
					responses.ResponseInputItemParamOfFunctionCall(call.Arguments, call.CallID, call.Name), result)
			}
		}
		for _, f := range faults {
			_, events, err := answer(ask, option.WithHeader(llmtest.FaultHeader, f.header))
			t.add(name+" "+f.name, failure(err, events), err)
		}
	}
}

package strictmodel

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stet-dev/stet/llm/gemini"
	"github.com/stet-dev/stet/llm/llmtest"
)

// geminiContent is a content of a request, with the fields that the provider's rules use.
type geminiContent struct {
	Role  string
	Parts []struct {
		FunctionCall *struct {
			ID, Name string
			Args     json.RawMessage
		}
		FunctionResponse *struct{ ID, Name string }
		ThoughtSignature string
	}
}

// calls and responses count the parts of their kind.
func (c geminiContent) calls() (n int) {
	for _, p := range c.Parts {
		if p.FunctionCall != nil {
			n++
		}
	}
	return n
}

func (c geminiContent) responses() (n int) {
	for _, p := range c.Parts {
		if p.FunctionResponse != nil {
			n++
		}
	}
	return n
}

// geminiRefusal checks a request as the provider does, and returns why it is refused; empty: it is accepted.
//
//   - There are contents, and they have parts ("Generating content"). The codec checks their roles.
//   - countTokens may have a whole request, with its model, in place of contents ("Counting tokens").
//   - A function call comes after a user's message or a function response. Function responses come after the calls that they
//     answer, one for each ("Function calling").
//   - The current turn begins with the user's last message. In it, the first call of each answer has its original
//     signature, if the model's generation checks it ("Thought signatures"). Two values are allowed in place of a
//     signature that was never given.
func geminiRefusal(model string, method gemini.Method, body []byte) string {
	type contents struct{ Contents []geminiContent }
	var req struct {
		contents
		GenerateContentRequest *struct {
			Model string
			contents
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return "Invalid JSON payload received. " + err.Error()
	}
	if whole := req.GenerateContentRequest; whole != nil {
		switch {
		case method != gemini.CountTokens:
			return `Invalid JSON payload received. Unknown name "generateContentRequest": Cannot find field.`
		case whole.Model != "models/"+model:
			return "* CountTokensRequest.generate_content_request.model: the model is not that of the path"
		}
		req.contents = whole.contents
	}
	if len(req.Contents) == 0 {
		return "* GenerateContentRequest.contents: contents is not specified"
	}
	for i, c := range req.Contents {
		if len(c.Parts) == 0 {
			return fmt.Sprintf("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.", i)
		}
		if refusal := geminiOrder(req.Contents, i); refusal != "" {
			return refusal
		}
	}
	if last := req.Contents[len(req.Contents)-1]; last.calls() > 0 {
		return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
	}
	if llmtest.ChecksSignatures.MatchString(model) {
		return geminiSigned(req.Contents)
	}
	return ""
}

// geminiOrder checks the order of content i and the one before it.
func geminiOrder(contents []geminiContent, i int) string {
	c := contents[i]
	var before geminiContent
	if i > 0 {
		before = contents[i-1]
	}
	switch {
	case c.calls() > 0 && (c.Role != "model" || i == 0 || before.Role == "model"):
		return "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
	case c.responses() > 0 && (before.Role != "model" || before.calls() == 0):
		return "Please ensure that function response turn comes immediately after a function call turn."
	case before.calls() != c.responses():
		return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
	}
	for _, p := range c.Parts {
		if r := p.FunctionResponse; r != nil && !before.asks(r.ID, r.Name) {
			return fmt.Sprintf("Function response %q answers no function call.", r.Name)
		}
	}
	return ""
}

// asks reports whether a response with this id and name answers one of the calls. A call without an id is identified by its name.
func (c geminiContent) asks(id, name string) bool {
	for _, p := range c.Parts {
		if f := p.FunctionCall; f != nil && f.Name == name && (f.ID == "" || f.ID == id) {
			return true
		}
	}
	return false
}

// unsigned lists the values that replace a signature that the model never gave.
var unsigned = []string{"context_engineering_is_the_way_to_go", "skip_thought_signature_validator"}

// geminiSigned checks the signatures of the current turn.
func geminiSigned(contents []geminiContent) string {
	turn := 0
	for i, c := range contents {
		if c.Role == "user" && c.responses() < len(c.Parts) {
			turn = i
		}
	}
	for _, c := range contents[turn:] {
		for j, p := range c.Parts {
			f := p.FunctionCall
			if f == nil {
				continue
			}
			switch want := llmtest.GeminiSignature(f.Name, f.Args); {
			case p.ThoughtSignature == "":
				return fmt.Sprintf("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "+
					"and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s`, position %d.", f.Name, j+1)
			case p.ThoughtSignature != want && !slices.Contains(unsigned, p.ThoughtSignature):
				return "Corrupted thought signature."
			}
			break // of parallel calls, only the first has a signature
		}
	}
	return ""
}

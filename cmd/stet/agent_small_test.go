package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
)

// smallAgent is an agent: it sends its whole conversation to a model, runs the calls of the answer, and sends it again. It does not
// know that its requests go through a proxy.
type smallAgent struct {
	base  string // base URL of the model's endpoint, or of the proxy
	files *os.Root
	http  *http.Client

	request llm.Request
}

const task = "Look at the two files, and mark the line that matters."

// newSmallAgent returns an agent that works on files. base is the URL of the model.
func newSmallAgent(base string, files *os.Root) *smallAgent {
	a := &smallAgent{base: base, files: files, http: new(http.Client)}
	a.request = llm.Request{
		Model:     "scripted",
		MaxTokens: 1000,
		Messages: []llm.Message{
			{Role: llm.System, Parts: []llm.Part{{Kind: llm.Text, Text: "You work on the files of a project with the tools you have."}}},
			{Role: llm.User, Parts: []llm.Part{{Kind: llm.Text, Text: task}}},
		},
	}
	a.request.AddTool("read_file", "Read a file, or some of its lines.", []byte(
		`{"type":"object","properties":{"path":{"type":"string"},"start_line":{"type":"integer"},"end_line":{"type":"integer"}},"required":["path"]}`))
	a.request.AddTool("edit_file", "Replace text in a file.", []byte(
		`{"type":"object","properties":{"path":{"type":"string"},"old_string":{"type":"string"},"new_string":{"type":"string"}},"required":["path","old_string","new_string"]}`))
	return a
}

// run works until the model makes no more calls, and returns the model's last text.
func (a *smallAgent) run(ctx context.Context) (string, error) {
	for {
		body, err := (anthropic.Messages{}).Encode(&a.request)
		if err != nil {
			return "", err
		}
		answer, err := a.send(ctx, body)
		if err != nil {
			return "", err
		}
		a.request.Messages = append(a.request.Messages, answer.Message)
		results := llm.Message{Role: llm.Tool}
		words := ""
		for _, p := range answer.Message.Parts {
			switch p.Kind {
			case llm.Text:
				words += p.Text
			case llm.ToolCall:
				text, err := a.do(p)
				if err != nil {
					text = "Error: " + err.Error()
				}
				results.Parts = append(results.Parts, llm.Part{Kind: llm.ToolResult, CallID: p.CallID, Text: text, IsError: err != nil})
			}
		}
		if len(results.Parts) == 0 {
			return words, nil
		}
		a.request.Messages = append(a.request.Messages, results)
	}
}

func (a *smallAgent) send(ctx context.Context, body []byte) (*llm.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the model answered %s: %s", resp.Status, bytes.TrimSpace(answer))
	}
	return (anthropic.Messages{}).DecodeResponse(answer)
}

// do runs one tool call.
func (a *smallAgent) do(call llm.Part) (result string, err error) {
	var args struct {
		Path      string `json:"path"`
		StartLine int    `json:"start_line"`
		EndLine   int    `json:"end_line"`
		Old       string `json:"old_string"`
		New       string `json:"new_string"`
	}
	if err := json.Unmarshal([]byte(call.Args), &args); err != nil {
		return "", err
	}
	path := filepath.FromSlash(args.Path)
	if filepath.IsAbs(path) {
		root, err := filepath.Abs(a.files.Name())
		if err == nil {
			path, err = filepath.Rel(root, path)
		}
		if err != nil {
			return "", err
		}
	}
	text, err := a.files.ReadFile(path)
	if err != nil {
		return "", err
	}
	if call.Name == "edit_file" {
		if n := strings.Count(string(text), args.Old); n != 1 {
			return "", fmt.Errorf("the text to replace is there %d times", n)
		}
		changed := strings.Replace(string(text), args.Old, args.New, 1)
		err := a.files.WriteFile(path, []byte(changed), 0o600)
		return fileResult(map[string]any{"success": true, "bytes_written": len(changed)}), err
	}
	lines := strings.SplitAfter(string(text), "\n")
	if args.StartLine > 0 {
		lines = lines[min(args.StartLine-1, len(lines)):min(args.EndLine, len(lines))]
	}
	content := strings.Join(lines, "")
	return fileResult(map[string]any{"success": true, "content": content, "lines_read": strings.Count(content, "\n")}), nil
}

func fileResult(v map[string]any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, numbers and booleans
	}
	return string(b)
}

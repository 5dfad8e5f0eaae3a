package openai

import (
	"encoding/json"
	"errors"

	"github.com/stet-dev/stet/llm"
)

// assembled collects the output items of a response. They are kept as they come.
type assembled struct {
	items [][]byte // by their index
	id    string   // of the response; set when it is complete
}

// NewAssembly returns an Assembly for a response with this Content-Type.
func NewAssembly(contentType string) *llm.Assembly { return llm.NewAssembly(contentType, &assembled{}) }

// Answer implements llm.Assembled.
func (a *assembled) Answer() (id string, items [][]byte, ok bool) { return a.id, a.items, a.id != "" }

// Event implements llm.Assembled.
func (a *assembled) Event(name, data []byte) error {
	var said struct {
		Index    int `json:"output_index"`
		Item     json.RawMessage
		Response json.RawMessage
	}
	switch string(name) {
	case "response.output_item.done":
		if json.Unmarshal(data, &said) != nil || said.Index != len(a.items) || len(said.Item) == 0 {
			return errors.New("an item out of place")
		}
		a.items = append(a.items, said.Item)
	case "response.completed", "response.incomplete", "response.done":
		if err := json.Unmarshal(data, &said); err != nil {
			return err
		}
		return a.Document(said.Response)
	case "response.failed", "error":
		return errors.New("the response failed")
	}
	return nil
}

// Document implements llm.Assembled. Some providers leave out the items that were streamed.
func (a *assembled) Document(response []byte) error {
	var said struct {
		ID, Status string
		Output     []json.RawMessage
	}
	if json.Unmarshal(response, &said) != nil || said.ID == "" || said.Status == "failed" || said.Status == "in_progress" || said.Status == "queued" {
		return errors.New("no complete response")
	}
	if len(said.Output) > 0 {
		a.items = nil
		for _, item := range said.Output {
			a.items = append(a.items, item)
		}
	}
	a.id = said.ID
	return nil
}

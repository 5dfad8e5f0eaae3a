package wire

import (
	"reflect"
	"strings"
)

// shape describes a type of frame: its name and its keys.
type shape struct {
	name     string
	about    string   // for the generated documents
	keys     []string // possible keys, besides type
	required []string
	empty    func() Frame
}

// shapes are the types of frames.
var shapes = []*shape{hello, toolCall, toolResult, cancel, progress, part, taken, question, event, fault, ack}

var (
	hello      = shapeOf[Hello]("hello", "First frame of either side, the client's first.")
	toolCall   = shapeOf[ToolCall]("tool_call", "Asks for a tool to be run: agent to gateway, gateway to host.")
	toolResult = shapeOf[ToolResult]("tool_result", "What a call came to, or that it waits for a person: host to gateway, gateway to agent.")
	cancel     = shapeOf[Cancel]("cancel", "Ends a call: agent to gateway, gateway to host.")
	progress   = shapeOf[Progress]("progress", "How a call is doing: host to gateway, gateway to agent. To a host: a person may be asked.")
	part       = shapeOf[Part]("part", "A piece of a large content: of a write towards the host, of a read towards the agent.")
	taken      = shapeOf[Taken]("taken", "Parts of a content were taken: from where they go to where they come from.")
	question   = shapeOf[Approval]("approval", "A question to a person, its answer, or its end.")
	event      = shapeOf[Event]("event", "Something happened that is no answer: gateway to agent.")
	fault      = shapeOf[Error]("error", "Answers a frame that could not be understood or done.")
	ack        = shapeOf[Ack]("ack", "How many frames have been received, of a session that can be resumed.")
)

func (*Hello) frame() *shape      { return hello }
func (*ToolCall) frame() *shape   { return toolCall }
func (*ToolResult) frame() *shape { return toolResult }
func (*Cancel) frame() *shape     { return cancel }
func (*Progress) frame() *shape   { return progress }
func (*Part) frame() *shape       { return part }
func (*Taken) frame() *shape      { return taken }
func (*Approval) frame() *shape   { return question }
func (*Event) frame() *shape      { return event }
func (*Error) frame() *shape      { return fault }
func (*Ack) frame() *shape        { return ack }

// TypeOf is the frame's type, as it is written.
func TypeOf(f Frame) string { return f.frame().name }

// shapeOf takes the keys from the tags of a struct. A key without omitempty is required. There is one exception: the flags of calls
// and results are always written, but may be missing.
func shapeOf[T any, P interface {
	*T
	Frame
}](name, about string) *shape {
	s := &shape{name: name, about: about, empty: func() Frame { return P(new(T)) }}
	for f := range reflect.TypeFor[T]().Fields() {
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		s.keys = append(s.keys, key)
		if options == "" && f.Type.Kind() != reflect.Bool {
			s.required = append(s.required, key)
		}
	}
	return s
}

func findShape(name string) *shape {
	for _, s := range shapes {
		if s.name == name {
			return s
		}
	}
	return nil
}

package llm

import (
	"reflect"
	"testing"
)

func TestBuilder(t *testing.T) {
	var b Builder
	add := func(texts ...string) {
		for _, text := range texts {
			b.Add(Part{Text: text})
		}
	}
	add("r", "u")
	b.EndAt(Tool, 1)
	b.End(User)
	add("a")
	b.End(Assistant)
	add("b")
	b.Extend()
	b.End(User)
	add("s")
	b.EndFirst(System)
	want := []Message{
		{Role: System, Parts: []Part{{Text: "s"}}}, {Role: Tool, Parts: []Part{{Text: "r"}}}, {Role: User, Parts: []Part{{Text: "u"}}},
		{Role: Assistant, Parts: []Part{{Text: "a"}, {Text: "b"}}}, {Role: User},
	}
	got := b.Messages()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	_ = append(got[1].Parts, Part{Text: "more"})
	if got[2].Parts[0].Text != "u" {
		t.Error("a message reaches into the next")
	}
	if none := new(Builder).Messages(); none == nil || len(none) != 0 {
		t.Errorf("%v", none)
	}
}

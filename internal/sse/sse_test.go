package sse

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

type event struct{ name, data string }

// read parses stream in chunks. The bytes of cuts are the lengths of the chunks.
func read(stream, cuts []byte, max int) []event {
	var got []event
	p := Parser{Max: max, Event: func(name, data []byte) { got = append(got, event{string(name), string(data)}) }}
	for i := 0; len(stream) > 0; i++ {
		n := len(stream)
		if len(cuts) > 0 {
			n = min(n, int(cuts[i%len(cuts)])%32+1)
		}
		chunk := bytes.Clone(stream[:n])
		if taken, err := p.Write(chunk); taken != n || err != nil {
			panic("write must take all")
		}
		clear(chunk) // the parser must not keep a reference to it
		stream = stream[n:]
	}
	return got
}

func TestParser(t *testing.T) {
	for _, c := range []struct {
		stream string
		want   []event
	}{
		{"", nil},
		{"data: a\n\n", []event{{"", "a"}}},
		{"data:a\n\n", []event{{"", "a"}}},
		{"data:  a\n\n", []event{{"", " a"}}},
		{"event: x\ndata: a\ndata: b\n\n", []event{{"x", "a\nb"}}},
		{"event: x\r\ndata: a\r\n\r\ndata: b\r\r", []event{{"x", "a"}, {"", "b"}}},
		{": comment\n\ndata\n\nevent: no data\n\ndata: a\n\n", []event{{"", ""}, {"", "a"}}},
		{"\ufeffdata: a\n\n\ufeffdata: b\n\n", []event{{"", "a"}}},
		{"id: 1\nretry: 5\nunknown: z\ndata: a\n\n", []event{{"", "a"}}},
		{"data: whole\n\ndata: cut off\n", []event{{"", "whole"}}},
		{"data: whole\n\ndata: cut o", []event{{"", "whole"}}},
		{"data: [DONE]\n\n", []event{{"", "[DONE]"}}},
	} {
		if got := read([]byte(c.stream), nil, 0); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %q, want %q", c.stream, got, c.want)
		}
		if got := read([]byte(c.stream), []byte{0}, 0); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q byte by byte: %q, want %q", c.stream, got, c.want)
		}
	}
}

func TestTooLargeIsSkipped(t *testing.T) {
	long := strings.Repeat("x", 1000)
	stream := fmt.Sprintf("data: a\n\nevent: e\ndata: %s\n\ndata: b\n\n: %s\n\ndata: c\n\n%s\n\ndata: d\n\n",
		long, long, strings.Repeat("data: yy\n", 100))
	want := []event{{"", "a"}, {"", "b"}, {"", "c"}, {"", "d"}}
	for _, cuts := range [][]byte{nil, {0}, {6, 31}} {
		if got := read([]byte(stream), cuts, 100); !reflect.DeepEqual(got, want) {
			t.Errorf("%q", got)
		}
	}
	lost := Parser{Max: 100}
	if lost.Write([]byte(stream)); lost.Lost != 3 {
		t.Errorf("%d events lost", lost.Lost)
	}
	p := Parser{Max: 100}
	for range 1000 {
		p.Write([]byte("data: " + long))
	}
	if cap(p.line)+cap(p.data) > 2000 {
		t.Errorf("holds %d bytes", cap(p.line)+cap(p.data))
	}
}

func FuzzChunks(f *testing.F) {
	f.Add([]byte("event: a\r\ndata: b\r\n\r\n\rdata: c\n\n: x\ndata\n\n"), []byte{1, 2, 7})
	f.Add([]byte("\xef\xbb\xbfdata: b\n\n"), []byte{0})
	f.Fuzz(func(t *testing.T, stream, cuts []byte) {
		for _, max := range []int{0, 5, 40} {
			whole, cut := read(stream, nil, max), read(stream, cuts, max)
			if !reflect.DeepEqual(whole, cut) {
				t.Fatalf("max %d: %q, in pieces %q", max, whole, cut)
			}
		}
	})
}

func TestTap(t *testing.T) {
	for _, c := range []struct {
		contentType, body string
		want              []string
	}{
		{"text/event-stream; charset=utf-8", "data: {}\n\n", []string{"{}"}},
		{"application/json", `{"a":1}`, []string{`{"a":1}`}},
		{"Application/Problem+JSON", ` x`, []string{` x`}},
		{"", " \n{}", []string{"{}"}},
		{"", " \n[{}]", []string{"[{}]"}},
		{"", "event: x\ndata: y\n\n", []string{"y"}},
		{"application/json", "", nil},
	} {
		var got []string
		tap := NewTap(c.contentType, func(_, data []byte) { got = append(got, string(data)) })
		for i := range len(c.body) {
			tap.Write([]byte(c.body[i : i+1]))
		}
		tap.Flush()
		tap.Flush()
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", c.contentType, got, c.want)
		}
	}
}

func TestTapIsBounded(t *testing.T) {
	called := false
	tap := NewTap("application/json", func(_, _ []byte) { called = true })
	chunk := make([]byte, 1<<20)
	for range 20 {
		tap.Write(chunk)
	}
	tap.Flush()
	if called || cap(tap.whole) > maxEvent {
		t.Errorf("called %v, holds %d", called, cap(tap.whole))
	}
}

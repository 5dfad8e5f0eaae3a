package chat

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// talker is a model whose answers are numbered words, in paragraphs. Each number from goOn makes it send so many words. The
// numbers show which words a screen has twice or not at all.
type talker struct {
	url  string
	goOn chan int // how many words to send next; closed: no more
}

func newTalker(t *testing.T) *talker {
	m := &talker{goOn: make(chan int, 10)}
	server := httptest.NewServer(http.HandlerFunc(m.answer))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	m.url = server.URL
	return m
}

func (m *talker) answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	said := 0
	say := func(delta string) {
		fmt.Fprintf(w, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{%s}}]}\n\n", delta)
		w.(http.Flusher).Flush()
	}
	for {
		select {
		case n, more := <-m.goOn:
			if !more {
				fmt.Fprint(w, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],"+
					"\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n")
				return
			}
			for range n {
				said++
				end := " "
				if said%40 == 0 {
					end = `\n\n`
				}
				say(fmt.Sprintf(`"content":"word%d%s"`, said, end))
			}
		case <-r.Context().Done():
			return
		}
	}
}

var numbered = regexp.MustCompile(`word\d+`)

// inOrder reports whether a screen has every word once, in order, up to the last.
func inOrder(screen string, last int) bool {
	words := numbered.FindAllString(strings.ReplaceAll(screen, "\n", " "), -1)
	if len(words) == 0 || words[len(words)-1] != fmt.Sprintf("word%d", last) {
		return false
	}
	for i, w := range words {
		if w != fmt.Sprintf("word%d", last-len(words)+1+i) {
			return false
		}
	}
	return true
}

// A terminal becomes narrower and wider while the model answers. At the end it shows the same as a terminal that had that width
// from the beginning: no line twice, none missing, and none broken at an earlier width.
func TestResizeWhileSpeaking(t *testing.T) {
	model := newTalker(t)
	term := open(t, 100, 24)
	args := "--api chat --base-url " + model.url
	term.chat(args)
	term.types("speak", "Enter")
	said := 0
	for _, size := range [][2]int{{100, 24}, {60, 24}, {120, 24}, {45, 16}, {90, 30}} {
		term.resize(size[0], size[1])
		said += 60
		model.goOn <- 60
		term.until(fmt.Sprintf("all words up to %d once", said), term.screen, func(screen string) bool { return inOrder(screen, said) })
	}
	close(model.goOn)
	term.gone("working")
	term.resize(70, 20)
	var want string
	term.until("the end, drawn again", term.screen, func(screen string) bool {
		want = screen
		return inOrder(screen, said) && strings.Count(screen, "\n") == 20
	})
	want = settled(term.screen)
	if !inOrder(want, said) {
		t.Fatalf("the screen is\n%s", want)
	}
	term.types("", "C-d")
	term.wait("stet chat --resume")
	term.chat(args + " --continue")
	term.until("as before:\n"+want, term.screen, func(screen string) bool { return tail(screen, ending) == tail(want, ending) })
}

// The screen content from before the chat is kept. If the size changes while a person reads in the full-screen view, the chat is
// drawn for the new size after that.
func TestResizeKeeps(t *testing.T) {
	term := open(t, 80, 24)
	term.types("clear; echo before the chat", "Enter")
	term.wait("before the chat")
	term.types("stet chat --model scripted --allow '*.txt'", "Enter")
	term.wait("›")
	term.types("hello", "Enter")
	term.wait("version 1. I am")
	term.types("", "C-o")
	term.wait("q goes back")
	term.resize(50, 24)
	term.wait("q goes back")
	term.types("q")
	term.gone("q goes back")
	term.until("the text for 50 columns, once", term.above, func(all string) bool {
		_, screen, ok := strings.Cut(all, "before the chat\n")
		return ok && strings.Count(screen, "I make a file of my own.") >= 1 && strings.Contains(term.screen(), "Done: stet-demo.txt has two lines, and the second\none is")
	})
}

package chat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/strictmodel"
)

// A person types a prompt, approves a diff, rejects one with words, looks at the use of the window, and leaves.
func TestApprove(t *testing.T) {
	term := open(t, 80, 30)
	term.chat("")
	term.shows("begin")
	term.types("show me what you do", "Enter")
	term.wait("write_file wants to write", "[q]uit >")
	term.shows("asked")
	term.types("a")
	term.wait("edit_file wants to write", "[q]uit >")
	term.types("r")
	term.wait("a message for the agent?")
	term.types("two spaces, please", "Enter")
	term.wait("says: two spaces, please", "Done:")
	term.scrolled("rejected")
	if got := term.file("stet-demo.txt"); got != "A file of the scripted model.\nThis line is new.\n" {
		t.Errorf("the file holds %q", got)
	}
	term.types("/context", "Enter")
	term.wait("the system prompt", "results of tools")
	term.types("/cost", "Enter")
	term.wait("output")
	term.types("", "C-o")
	term.wait("q goes back", `"path":"."`)
	term.types("q")
	term.gone("q goes back")
	term.types("", "C-d")
	term.wait("goes on with this")
}

// A person edits a diff in an editor before approving, and approves for the session.
func TestEdit(t *testing.T) {
	editor := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\necho in the editor\nread line </dev/tty\necho \"$line\" >> \"$1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	term := open(t, 80, 30, "EDITOR="+editor)
	term.chat("")
	term.types("go", "Enter")
	term.wait("[e]dit")
	term.types("e")
	term.wait("in the editor")
	term.types("typed in the editor", "Enter")
	term.wait("write these 68 bytes to stet-demo.txt? (y/N)")
	term.types("y")
	term.wait("edit_file wants to write", " typed in the editor", "[q]uit >")
	term.types("s")
	term.wait("Done:")
	if got := term.file("stet-demo.txt"); got != "A file of the scripted model.\nThis line is version 1.\ntyped in the editor\n" {
		t.Errorf("the file holds %q", got)
	}
	term.types("again", "Enter") // there is no question this time
	term.wait("second one is version 2")
}

// Esc Esc rewinds the conversation, and undo restores the files.
func TestRewind(t *testing.T) {
	term := open(t, 80, 30)
	term.chat("--allow '*.txt'")
	term.types("the first", "Enter")
	term.wait("version 1. I am")
	term.types("the second", "Enter")
	term.wait("version 2. I am")
	term.types("", "Escape")
	term.wait("Esc again")
	term.types("", "Escape")
	term.wait("Go back to before which message?", "❯ the second")
	term.types("", "Enter")
	term.wait("And the files?")
	term.types("", "Down", "Enter")
	term.wait("undo wants to write", "-This line is version 2.", "[q]uit >")
	term.types("a")
	term.wait("undone: 1 write", "› the second")
	term.shows("back")
	if got := term.file("stet-demo.txt"); !strings.Contains(got, "version 1") {
		t.Errorf("the file holds %q", got)
	}
	term.types(" try", "Enter")
	term.wait("› the second try", "version 2. I am")
}

// The terminal becomes smaller and larger, and has 20 columns.
func TestResize(t *testing.T) {
	term := open(t, 100, 30)
	term.chat("")
	term.types("hello", "Enter")
	term.wait("write_file wants to write", "[q]uit >")
	term.resize(20, 12)
	term.wait("[?] [q]uit >")
	settled(term.screen) // all is drawn again for this size
	term.types("a")
	term.wait("-This line is new.", "[q]uit >")
	term.shows("narrow")
	term.resize(60, 20)
	term.wait("[a]pprove [s]ession [p]attern [e]dit [r]eject [c]ancel")
	term.types("a")
	term.wait("version 1. I am")
	term.resize(3, 2)
	term.wait("›")
	term.resize(80, 24)
	term.wait("asks before it writes")
	term.types("/help", "Enter")
	term.wait("/compact [FOCUS]", "what fills the window")
}

func TestNarrow(t *testing.T) {
	term := open(t, 20, 12)
	term.chat("")
	term.types("do something that takes more than one line", "Enter")
	term.wait("[?] [q]uit >")
	term.types("a")
	term.wait("-This line is new.", "[?] [q]uit >")
	term.types("a")
	term.wait("takes it back.")
	term.scrolled("all")
}

// A person compacts the conversation, looks at its usage, and continues with another session.
func TestCommands(t *testing.T) {
	term := open(t, 80, 30)
	term.chat("--allow '*.txt'")
	term.types("the other one", "Enter")
	term.wait("version 1. I am")
	term.types("", "C-d")
	term.wait("goes on with this")
	term.types("rm stet-demo.txt", "Enter")
	term.chat("--allow '*.txt'")
	for _, version := range []string{"1", "2", "3", "4"} {
		term.types("make version "+version, "Enter")
		term.wait("the second one is version " + version)
	}
	term.types("/compact the versions", "Enter")
	term.wait("summed up; it goes on as session")
	term.shows("summed up")
	term.types("/cost", "Enter")
	term.wait("from the cache", "the model's prices are not known")
	term.types("/resume", "Enter")
	term.wait("Go on with which session?", "❯ the other one", "8 messages")
	term.types("the other")
	term.wait("❯ the other one")
	term.types("", "Enter")
	term.gone("Go on with which session?")
	term.wait("› the other one")
	term.types("again", "Enter")
	term.wait("› again")
	term.gone("working")
	term.shows("the other")
	term.types("/rewind", "Enter")
	term.wait("Go back to before which message?", "❯ again")
	term.types("", "Escape")
	term.gone("Go back to")
	term.types("/nothing", "Enter")
	term.wait("there is no /nothing; /help says what there is")
	term.types("/quit", "Enter")
	term.wait("goes on with this")
}

// Terminal control sequences, characters without a width and invalid UTF-8 that a model says are shown as escapes.
func TestBytes(t *testing.T) {
	model, err := strictmodel.Start(llmtest.Config{Handler: func(req *llm.Request) (llm.Response, error) {
		last := req.Messages[len(req.Messages)-1]
		text := "You said: " + last.Parts[0].Text + "\x1b[2J\x1b]0;title\a\u202e and\x00 more\xff."
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: text}}}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	term := open(t, 80, 16, "NO_COLOR=1")
	term.chat("--api chat --base-url " + model.URL + "/v1")
	term.types("hello", "Enter")
	term.wait("more")
	term.shows("bytes")
}

// kill -9 while a question is open, and the chat is continued.
func TestKill(t *testing.T) {
	term := open(t, 80, 40)
	term.chat("")
	term.types("hello", "Enter")
	term.wait("[q]uit >")
	term.types("a")
	term.wait("edit_file wants to write", "[q]uit >")
	term.kill()
	term.chat("--continue")
	term.wait("this was cut off; /continue goes on")
	term.shows("resumed")
	term.types("/continue", "Enter")
	term.wait("no result: the program ended before it was stored", "Done:")
	if got := term.file("stet-demo.txt"); got != "A file of the scripted model.\nThis line is new.\n" {
		t.Errorf("the file holds %q", got)
	}
	term.types("", "C-d")
	term.wait("goes on with this")
	term.chat("--resume")
	term.wait("Go on with which session?", "❯ hello")
	term.types("no such words")
	term.wait("nothing matches")
	term.types("", "C-u")
	term.wait("❯ hello")
	term.types("", "Enter")
	term.gone("Go on with which session?")
	term.wait("› hello", "Done:")
}

// A person interrupts a turn, types a message that waits, and leaves with Ctrl-C twice.
func TestInterrupt(t *testing.T) {
	goOn := make(chan struct{})
	model, err := strictmodel.Start(llmtest.Config{Handler: func(req *llm.Request) (llm.Response, error) {
		last := req.Messages[len(req.Messages)-1]
		text := last.Parts[len(last.Parts)-1].Text
		if strings.HasPrefix(text, "wait") {
			select {
			case <-goOn:
			case <-time.After(*patience):
			}
		}
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: "Heard: " + text}}}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	term := open(t, 80, 24)
	term.chat("--api chat --base-url " + model.URL + "/v1; echo exit $?")
	term.types("wait for it", "Enter")
	term.wait("working")
	term.types("and then this", "Enter")
	term.wait("queued: and then this")
	goOn <- struct{}{}
	term.wait("Heard: wait for it", "Heard: and then this")
	term.types("wait again", "Enter")
	term.wait("working")
	term.types("kept", "Enter")
	term.wait("queued: kept")
	term.types("", "C-c")
	term.wait("interrupted; /continue goes on", "› kept")
	close(goOn)
	term.wait("Ctrl-C again quits")
	term.types("", "C-c")
	term.wait("goes on with this", "exit 130")
}

// stet run does one task, with questions on the terminal.
func TestRun(t *testing.T) {
	term := open(t, 80, 30)
	term.types(`clear; stet run --model scripted "show me"; echo exit $?`, "Enter")
	term.wait("write_file wants to write", "[q]uit >")
	term.types("s")
	term.wait("Done:", "exit 0")
}

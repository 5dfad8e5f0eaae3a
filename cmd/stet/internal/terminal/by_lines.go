package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// askByLines asks the questions of the inbox. Each answer is a line. It returns like Dialog.Approve.
func (m *chat) askByLines(ctx context.Context, in *input) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &lineScreen{chat: m, in: in}
	m.width = 1 << 20 // lines are not broken
	m.start = func(f func() then) tea.Cmd { return f()() }
	m.exec = func(e *editorCommand, done func(error) then) tea.Cmd { return done(e.Run())() }
	defer l.stopReading()
	for {
		m.takeEvents()
		l.draw()
		switch {
		case m.quitting:
			return nil
		case m.passing && m.finished():
			return nil
		}
		l.read(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.inbox.more:
		case typed := <-l.reading:
			l.reading = nil
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case typed.err != nil && m.answeredAny && errors.Is(typed.err, io.EOF):
				l.printf("the input has ended; the questions stay open\n")
				return nil
			case typed.err != nil:
				return typed.err
			}
			l.prompted = false
			l.typed(typed.text)
		}
	}
}

// lineScreen prints what a chat shows as lines, and reads lines.
type lineScreen struct {
	*chat
	in       *input
	prompted bool      // the prompt is the last thing on the screen
	waiting  bool      // the message that there are no questions was printed
	asked    *decision // the last question that was shown

	reading chan typedLine // the result of the read that is running; nil: none is
	lines   bool           // it reads a line, and does not only wait for the end of the input
	stop    context.CancelFunc
}

type typedLine struct {
	text string
	err  error
}

// wants reports whether the next line is an answer.
func (l *lineScreen) wants() bool {
	return l.deciding != nil || l.closedWhileTyping != "" || l.list != nil
}

// draw prints what is new, and the prompt.
func (l *lineScreen) draw() {
	for _, line := range l.printer.rest() {
		l.printf("%s\n", line)
	}
	if l.deciding != l.asked {
		l.asked = l.deciding
		l.stopReading()
		l.in.discard()
	}
	if !l.wants() {
		if !l.waiting && l.waits && !l.quitting {
			l.printf("waiting for questions (q ends)\n")
			l.waiting = true
		}
		return
	}
	l.waiting = false
	if l.prompted {
		return
	}
	prompt := "number (Enter: 1)"
	if l.list == nil {
		prompt = l.promptText()
	} else {
		for i, c := range l.list.all {
			l.printf("%3d  %s\n", i+1, l.words("", strings.TrimRight(c.text+"  "+c.note, " ")))
		}
	}
	l.printf("%s ", l.paint(bold, l.visible("", prompt)))
	l.prompted = true
}

func (l *lineScreen) printf(format string, args ...any) {
	if l.prompted {
		l.prompted = false
		format = "\n" + format
	}
	_, _ = fmt.Fprintf(l.Out, format, args...) // if the terminal is closed, the next read fails
}

// read begins to read a line; if none is an answer, it waits for the end of the input or a q.
func (l *lineScreen) read(ctx context.Context) {
	wants := l.wants()
	if l.reading != nil && l.lines != wants {
		l.stopReading()
	}
	if l.reading != nil {
		return
	}
	ctx, l.stop = context.WithCancel(ctx)
	reading := make(chan typedLine, 1)
	l.reading, l.lines = reading, wants
	go func() {
		var typed typedLine
		if wants {
			typed.text, typed.err = l.in.line(ctx)
		} else {
			typed.err = l.in.end(ctx, l.waits)
		}
		reading <- typed
	}()
}

// stopReading ends the read that is running: only one may be.
func (l *lineScreen) stopReading() {
	if l.reading != nil {
		l.stop()
		<-l.reading
		l.reading = nil
	}
}

// typed processes a line.
func (l *lineScreen) typed(line string) {
	if !l.wants() { // it is one that ends the wait
		l.quit()
		return
	}
	if l.list == nil {
		l.answerLine(line)
		return
	}
	if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && n > 0 && n <= len(l.list.all) {
		l.choose(l.list.all[n-1])
		return
	}
	l.leaveList()
}

package terminal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

const (
	// keyGap is the longest time between the bytes of one key or of a paste.
	keyGap = 25 * time.Millisecond

	// pasteTime is the longest time between the pieces of a paste.
	pasteTime = time.Second

	// quietTime is the time without keys after which a question accepts a key. A key that is held down, or was meant for
	// the previous question, must not answer it.
	quietTime = 300 * time.Millisecond
)

// errSeveral means that several keys arrived at once.
var errSeveral = errors.New("several keys came at once: a paste is no answer; press one key")

// once returns a function whose first call calls f. Later calls do nothing.
func once(f func()) func() {
	var o sync.Once
	return func() { o.Do(f) }
}

// byKeys reports whether the person answers with single keys.
func (d *Dialog) byKeys() bool { return d.Keys && isTerminal(d.In) && isTerminal(d.Out) }

// enterKeys makes the terminal deliver single keys, and mark pasted text. leave resets the terminal.
func (d *Dialog) enterKeys() (leave func(), err error) {
	d.input().rest = nil
	mode, err := keyMode(d.In.(*os.File))
	if err != nil {
		return nil, err
	}
	d.printf(ansi.SetModeBracketedPaste)
	leave = once(func() {
		d.printf(ansi.ResetModeBracketedPaste)
		mode()
	})
	d.mu.Lock()
	d.leaveKeys = leave
	d.mu.Unlock()
	return leave, nil
}

// resetOnPanic is deferred in goroutines. After a panic, it resets the terminal before the program ends.
func (d *Dialog) resetOnPanic() {
	if r := recover(); r != nil {
		d.mu.Lock()
		leave := d.leaveKeys
		d.mu.Unlock()
		if leave != nil {
			leave()
		}
		panic(r)
	}
}

// promptKey waits until no key is pressed, prints a prompt, waits for a key, and prints the key. Ctrl-D is the end of the
// input.
func (d *Dialog) promptKey(ctx context.Context, text string) (string, error) {
	leave, err := d.enterKeys()
	if err != nil {
		return "", err
	}
	defer leave()
	if err := d.input().quiet(ctx); err != nil {
		return "", err
	}
	for {
		columns, _ := d.size()
		lines := fold(d.painter().visible("", text), columns)
		d.printf("%s", d.painter().paint(bold, strings.Join(lines, "\n")+" "))
		k, err := d.input().key(ctx)
		switch {
		case errors.Is(err, errSeveral):
			d.printf("\n")
			d.printError(err)
			if err := d.input().quiet(ctx); err != nil {
				return "", err
			}
			continue
		case err != nil:
			return "", err
		case k == "ctrl+d":
			return "", io.EOF
		case k == "ctrl+c":
			return "", errQuit
		case k == "enter" || k == "ctrl+j":
			k = ""
		}
		d.printf("%s\n", d.painter().visible("", k))
		return k, nil
	}
}

// settle drops typed keys until no key was pressed for quietTime.
func (d *Dialog) settle(ctx context.Context) error {
	leave, err := d.enterKeys()
	if err != nil {
		return err
	}
	defer leave()
	return d.input().quiet(ctx)
}

// promptEnter waits for the Enter key.
func (d *Dialog) promptEnter(ctx context.Context, text string) error {
	for {
		if k, err := d.promptKey(ctx, text); err != nil || k == "" {
			return err
		}
	}
}

// idle reads keys until the person quits, or the input or ctx ends.
func (d *Dialog) idle(ctx context.Context) error {
	leave, err := d.enterKeys()
	if err != nil {
		return err
	}
	defer leave()
	for {
		k, err := d.input().key(ctx)
		switch {
		case errors.Is(err, errSeveral):
		case err != nil:
			return err
		case k == "ctrl+d":
			return io.EOF
		case k == "q", k == "ctrl+c":
			return errQuit
		}
	}
}

// pick lets the person choose one of the lines on a separate screen. It returns the index of the line, or -1.
func (d *Dialog) pick(ctx context.Context, title string, lines []string) (int, error) {
	leave, err := d.enterKeys()
	if err != nil {
		return -1, err
	}
	defer leave()
	d.printf(ansi.SetModeAltScreenSaveCursor + ansi.ResetModeTextCursorEnable)
	defer d.printf(ansi.SetModeTextCursorEnable + ansi.ResetModeAltScreenSaveCursor)
	changes, stop := resizes()
	defer stop()
	p := &picker{title: title}
	for i, line := range lines {
		p.all = append(p.all, choice{text: strconv.Itoa(i+1) + "  " + line})
	}
	p.found = p.all
	for number := 0; ; {
		d.drawPicker(p)
		keys, err := d.resizedOrKeys(ctx, changes)
		if err != nil && !errors.Is(err, errSeveral) {
			return -1, err
		}
		for _, k := range keys {
			var done bool
			if number, done, err = p.pressed(k, number); done {
				return number - 1, err
			}
		}
	}
}

// pressed processes a key in a list with numbered lines. number is the first digits of a number, if the person has typed
// some. It returns the new number. When done, this is the number of the chosen line, or 0 for none.
func (p *picker) pressed(k string, number int) (_ int, done bool, err error) {
	if len(k) == 1 && k[0] >= '0' && k[0] <= '9' {
		if n := number*10 + int(k[0]-'0'); n > 0 && n <= len(p.found) {
			p.at = n - 1
			return n, n*10 > len(p.found), nil
		}
		return 0, false, nil
	}
	switch k {
	case "j", "down":
		p.step(1)
	case "k", "up":
		p.step(-1)
	case "pgdown":
		p.step(10)
	case "pgup":
		p.step(-10)
	case "enter", "ctrl+j":
		return p.at + 1, true, nil
	case "esc", "q":
		return 0, true, nil
	case "ctrl+d":
		return 0, true, io.EOF
	case "ctrl+c":
		return 0, true, errQuit
	}
	return 0, false, nil
}

// drawPicker draws a list on a cleared screen.
func (d *Dialog) drawPicker(p *picker) {
	columns, height := d.size()
	d.printf(ansi.EraseEntireScreen)
	view := append(p.view(d.painter(), columns, max(height-2, 1)), "", clip(d.painter().paint(dim, "j k ↑ ↓ or a number, Enter takes it, Esc goes back"), columns))
	for i, line := range view[:min(len(view), height)] {
		d.printf("%s%s", ansi.CursorPosition(1, i+1), line)
	}
}

// size returns the largest width of lines, and the number of lines on the screen. The last column stays free: after a
// character in it, terminals put the cursor at different places.
func (d *Dialog) size() (columns, height int) {
	columns, height = 80, 24
	if f, ok := d.Out.(*os.File); ok {
		if w, h, err := term.GetSize(f.Fd()); err == nil && w > 0 && h > 0 {
			columns, height = w, h
		}
	}
	return max(columns-1, 1), height
}

// resizedOrKeys waits for keys or for a change of the terminal's size. A change of the size returns no keys.
func (d *Dialog) resizedOrKeys(ctx context.Context, changes <-chan os.Signal) ([]string, error) {
	either, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-changes:
			cancel()
		case <-either.Done():
		}
	}()
	defer func() { cancel(); <-watched }()
	keys, err := d.input().keys(either)
	if err != nil && ctx.Err() == nil && either.Err() != nil {
		return nil, nil
	}
	return keys, err
}

// quiet drops typed keys until no key was pressed for quietTime.
func (in *input) quiet(ctx context.Context) error {
	in.rest = nil
	for {
		c, err := in.readFor(ctx, quietTime)
		switch {
		case errors.Is(err, errNothing):
			in.rest = nil
			return nil
		case err != nil:
			return err
		case c.err != nil:
			in.err = c.err
			return c.err
		}
	}
}

// key waits for a key, and returns its name: the character, or for example "up" or "enter".
func (in *input) key(ctx context.Context) (string, error) {
	keys, err := in.keys(ctx)
	if err != nil {
		return "", err
	}
	if len(keys) > 1 {
		return "", errSeveral
	}
	return keys[0], nil
}

// keys waits for keys, and returns the names of those that arrive at once. There is at least one.
func (in *input) keys(ctx context.Context) ([]string, error) {
	for {
		typed := in.rest
		in.rest = nil
		for pasted := false; ; {
			if len(typed) > maxTyped {
				typed = typed[:maxTyped] // this is more than one key in any case
			}
			if in.err != nil && len(typed) == 0 {
				return nil, in.err
			}
			var c chunk
			var err error
			switch {
			case len(typed) == 0:
				c, err = in.read(ctx)
			case pasted:
				c, err = in.readFor(ctx, pasteTime)
			default:
				c, err = in.readFor(ctx, keyGap)
			}
			if errors.Is(err, errNothing) {
				break
			}
			if err != nil {
				in.rest = append(typed, in.rest...)
				return nil, err
			}
			typed, in.err = append(typed, c.data...), c.err
			if in.err != nil {
				break
			}
			pasted = bytes.Count(typed, []byte(pasteStart)) > bytes.Count(typed, []byte(pasteEnd))
		}
		if keys, err := keyNames(typed); len(keys) > 0 || err != nil {
			return keys, err
		}
	}
}

// Terminals send these before and after pasted text.
const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// keyNames returns the names of the keys in the bytes. A terminal's answers give no names. A paste gives errSeveral.
func keyNames(typed []byte) ([]string, error) {
	var decoder uv.EventDecoder
	var found []string
	for len(typed) > 0 {
		n, event := decoder.Decode(typed)
		switch e := event.(type) {
		case uv.KeyPressEvent:
			found = append(found, e.String())
		case uv.PasteStartEvent:
			return nil, errSeveral
		}
		typed = typed[max(n, 1):]
	}
	return found, nil
}

// errNothing is the error of a read that had no input in its time.
var errNothing = errors.New("nothing was typed")

// readFor is read with a time limit.
func (in *input) readFor(ctx context.Context, most time.Duration) (chunk, error) {
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	c, err := in.read(limited)
	if err != nil && ctx.Err() == nil {
		if kept := in.rest; len(kept) > 0 || in.err != nil { // input arrived at the last moment
			in.rest = nil
			return chunk{kept, in.err}, nil
		}
		return chunk{}, errNothing
	}
	return c, err
}

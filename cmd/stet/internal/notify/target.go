package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const (
	sendTimeout = 10 * time.Second
	longestNtfy = 3800 // bytes; ntfy makes a file of a message of more than 4,096
)

// target is a destination of messages.
type target struct {
	name string // name of the configuration key
	send func(context.Context, message) error
}

func (c Config) targets() []target {
	var all []target
	client := &http.Client{CheckRedirect: stay}
	if c.Ntfy != "" {
		all = append(all, target{"ntfy", func(ctx context.Context, m message) error {
			text, _ := ntfyText(m)
			return post(ctx, client, c.Ntfy, "text/plain; charset=utf-8", m, text)
		}})
	}
	if c.Webhook != "" {
		all = append(all, target{"webhook", func(ctx context.Context, m message) error {
			return post(ctx, client, c.Webhook, "application/json", message{}, asJSON(m))
		}})
	}
	if len(c.Command) > 0 {
		all = append(all, target{"command", func(ctx context.Context, m message) error { return run(ctx, c.Command, m) }})
	}
	if c.Push != nil {
		all = append(all, target{"push", c.Push.send})
	}
	return all
}

// stay follows no redirect: it could send the message to another host.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// post sends a body; m has the link and the buttons that go with it. Its errors do not contain the address.
func post(ctx context.Context, client *http.Client, address, kind string, m message, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address is not valid")
	}
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Title", "stet") // for ntfy; other servers ignore it
	if m.Link != "" {
		r.Header.Set("Click", m.Link) // what a tap on the message opens
	}
	if len(m.buttons) > 0 {
		actions, _ := json.Marshal(m.buttons) // strings always marshal
		r.Header.Set("Actions", string(actions))
	}
	_, err = answered(client.Do(r))
	return err
}

// answered returns the status of an answer, and an error if it is none of success. The error does not contain the address.
func answered(answer *http.Response, err error) (status int, _ error) {
	if err != nil {
		var whole *url.Error
		if errors.As(err, &whole) {
			err = whole.Err
		}
		return 0, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection can be used again
	_ = answer.Body.Close()
	if answer.StatusCode >= 300 {
		err = fmt.Errorf("the server answered %s", answer.Status)
	}
	return answer.StatusCode, err
}

// ntfyText returns a message as a text of bounded length for ntfy. whole says that nothing was cut off.
func ntfyText(m message) (text []byte, whole bool) {
	all := m.Text
	if m.Diff != "" {
		all += "\n\n" + m.Diff
	}
	if whole = len(all) <= longestNtfy; !whole {
		all = strings.ToValidUTF8(all[:longestNtfy], "") + "\n…"
	}
	return []byte(all), whole
}

func asJSON(m message) []byte {
	b, _ := json.Marshal(m) // strings and times always marshal
	return b
}

// run runs a program with the text as its last argument. The text contains names that agents chose. It begins with our own words,
// so that no program reads it as an option.
func run(ctx context.Context, argv []string, m message) error {
	cmd := exec.CommandContext(ctx, argv[0], append(slices.Clone(argv[1:]), "stet: "+m.Text)...)
	cmd.Stdin = bytes.NewReader(asJSON(m))
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", argv[0], err)
	}
	return nil
}

// Package notify reports to a person outside of stet that a question waits for them, and how it ended: by ntfy, by a webhook, by a
// program, or in the browser. [Config.Follow] follows a queue of questions without answering them. The queue never waits for it.
//
// A message says who wants to do what to which file. It contains the content of the write only if the person configured that. An
// address may contain a secret, such as a password or a topic's name, so it is not in logs and errors. The link of a message names
// a question on the page, where who opens it signs in. Only with Actions has a message buttons, which decide at once.
package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/internal/invisible"
)

// Config says where and what to notify: the table [notify] of the configuration. The zero Config sends nothing.
type Config struct {
	Ntfy    string   `toml:"ntfy"`    // the URL of a topic
	Webhook string   `toml:"webhook"` // a URL that gets each event as JSON
	Command []string `toml:"command"` // a program that gets the text as its last argument, and the event as JSON on standard input
	Link    string   `toml:"link"`    // the address of the page: a message names the question's place there. It holds no right
	Content bool     `toml:"content"` // also send the content of the write
	Actions bool     `toml:"actions"` // a message to Ntfy has buttons that decide at once, whoever presses them
	Push    *Push    `toml:"-"`       // browsers that people have named on the page
}

// Check validates the configuration. Its errors do not contain the addresses.
func (c Config) Check() error {
	for name, address := range map[string]string{"ntfy": c.Ntfy, "webhook": c.Webhook, "link": c.Link} {
		if address == "" {
			continue
		}
		u, err := url.Parse(address)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return fmt.Errorf("%s: want a URL that begins with https:// or http://", name)
		}
		if name == "ntfy" && len(u.Path) < 2 {
			return errors.New("ntfy: want the URL of a topic, as https://ntfy.sh/TOPIC")
		}
		if name == "link" && (u.User != nil || u.RawQuery != "" || u.Fragment != "") {
			return errors.New("link: want the address of the page alone, as https://stet.example; who opens it signs in there")
		}
	}
	if c.Actions && (c.Ntfy == "" || !c.Buttons()) {
		return errors.New("actions: it needs ntfy, and as link an address of the page that begins with https://")
	}
	if len(c.Command) > 0 && c.Command[0] == "" {
		return errors.New("command: want a program and its arguments")
	}
	return nil
}

// Buttons reports whether messages have buttons. Their keys are not to be read on the way, so the page must have TLS, or be on this machine.
func (c Config) Buttons() bool {
	u, err := url.Parse(c.Link)
	return c.Actions && err == nil && (u.Scheme == "https" || net.ParseIP(u.Hostname()).IsLoopback())
}

// message describes an event. A webhook and a command get it as JSON.
type message struct {
	Event     string    `json:"event"`    // "opened", "closed" or "limit"
	Question  string    `json:"question"` // its ID
	Text      string    `json:"text"`     // for people, without control characters
	Workspace string    `json:"workspace,omitempty"`
	Session   string    `json:"session"`
	Client    string    `json:"client,omitempty"`
	Tool      string    `json:"tool"`
	Path      string    `json:"path,omitempty"`
	Expires   time.Time `json:"expires,omitzero"` // without an answer until then the answer is no
	Link      string    `json:"link,omitempty"`   // the question on the page, for who is signed in there
	How       string    `json:"how,omitempty"`    // of "closed": the verdict, "expired" or "withdrawn"
	By        string    `json:"by,omitempty"`     // who answered
	Diff      string    `json:"diff,omitempty"`   // if Content is set

	buttons []button // for ntfy
	native  bool     // about an agent's own tool
}

// button is an action of ntfy: https://docs.ntfy.sh/publish/#action-buttons.
type button struct {
	Action string `json:"action"`
	Label  string `json:"label"`
	URL    string `json:"url"`
	Method string `json:"method"`
	Body   string `json:"body"`
	Clear  bool   `json:"clear"` // the message goes once the button was pressed
}

// most is the number of open questions that are reported to a person. Another one is reported when one of these has ended.
const most = 5

// Teller returns a function that sends a sentence to a person, and returns after that. It is nil if no recipient is configured.
func (c Config) Teller(log *slog.Logger) func(text string) {
	to := c.targets()
	if len(to) == 0 {
		return nil
	}
	return func(text string) {
		ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
		defer cancel()
		for _, t := range to {
			if err := t.send(ctx, message{Event: "limit", Text: plain(text)}); err != nil {
				log.Warn("the note of a limit was not sent", "by", t.name, "error", err)
			}
		}
	}
}

// Follow reports the events of a queue until ctx ends: of questions about agents' own tools, or of the others. (A page also has those of the process
// that guards agents, which reports them itself.) secret is that of the page where the questions can be answered; nil: they are on no page, and a
// message has no link and no button.
func (c Config) Follow(ctx context.Context, q *approval.Queue, native bool, secret []byte, log *slog.Logger) {
	to := c.targets()
	if len(to) == 0 {
		return
	}
	f := &follower{Config: c, native: native, secret: secret, queue: q, to: to, reported: map[string]message{}, log: log}
	for ctx.Err() == nil {
		sub := q.Subscribe()
		err := f.follow(ctx, sub)
		_ = sub.Close() // Close returns no error
		if !errors.Is(err, approval.ErrSlow) {
			return
		}
		for id := range f.reported { // they may have ended without notice
			if _, err := q.Find(id); err != nil {
				delete(f.reported, id)
			}
		}
	}
}

// follower is the state of Follow.
type follower struct {
	Config
	native   bool
	secret   []byte
	queue    *approval.Queue
	to       []target
	reported map[string]message // the open questions that were reported, by ID
	log      *slog.Logger
}

func (f *follower) follow(ctx context.Context, sub *approval.Subscription) error {
	for {
		e, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		switch {
		case e.Opened != nil:
			f.opened(ctx, *e.Opened)
		case e.Closed != nil:
			f.closed(ctx, *e.Closed)
		}
	}
}

// opened reports a question, unless it has ended or enough questions are reported.
func (f *follower) opened(ctx context.Context, q approval.Question) {
	q, err := f.queue.Find(q.ID)
	if _, before := f.reported[q.ID]; err != nil || before || q.Native != f.native || len(f.reported) >= most {
		return
	}
	m := message{
		Event: "opened", Question: q.ID, Text: wants(q, f.Content), Workspace: q.Root, Session: q.Session, Client: q.Client,
		Tool: q.Tool, Path: q.Path, Expires: q.Expires, native: q.Native,
	}
	if f.Content {
		m.Diff = lines(q.Diff.Text())
		if where := cmp.Or(q.Dir, q.Root); where != "" {
			m.Text += "\n" + plain("in "+where)
		}
	}
	if f.secret != nil && f.Link != "" {
		m.Link = strings.TrimSuffix(f.Link, "/") + "/#/queue/" + q.ID
		m.buttons = f.buttons(q, m)
	}
	f.reported[q.ID] = m
	f.send(ctx, m)
}

// buttons returns the buttons of a message. It has one that approves only if the message shows all that is approved, and there is nothing to
// be careful about.
func (f *follower) buttons(q approval.Question, m message) (all []button) {
	if !f.Buttons() {
		return nil
	}
	add := func(label string, v approval.Verdict) {
		body, _ := json.Marshal(q.Button(f.secret, v)) // strings always marshal
		all = append(all, button{"http", label, strings.TrimSuffix(f.Link, "/") + "/api/questions/" + q.ID + "/press", "POST", string(body), true})
	}
	if _, whole := ntfyText(m); whole && m.Diff != "" && q.Pressable() {
		add("Approve", approval.Approve)
	}
	add("Reject", approval.Reject)
	return all
}

// closed reports how a reported question ended, and then reports a waiting one.
func (f *follower) closed(ctx context.Context, c approval.Closing) {
	m, reported := f.reported[c.ID]
	if !reported {
		return
	}
	delete(f.reported, c.ID)
	m.Event, m.How, m.By, m.Diff, m.Link, m.buttons = "closed", c.How, c.By, "", "", nil
	m.Text = ended(c) + ": " + about(m.Client, m.Tool, m.Path)
	f.send(ctx, m)
	if len(f.reported) == most-1 {
		for _, q := range f.queue.Open() {
			f.opened(ctx, q)
		}
	}
}

// send sends a message to all targets concurrently, and waits for them.
func (f *follower) send(ctx context.Context, m message) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	var sending sync.WaitGroup
	for _, to := range f.to {
		sending.Go(func() {
			if err := to.send(ctx, m); err != nil && f.log != nil {
				f.log.Warn("notify", "by", to.name, "question", m.Question, "err", err)
			}
		})
	}
	sending.Wait()
}

// wants returns the text about a question.
func wants(q approval.Question, content bool) string {
	does := q.Does()
	if q.Command != "" && !content { // a command may hold a password
		does = "run a command: " + strings.Fields(q.Command)[0] + " …"
	}
	text := fmt.Sprintf("%s wants to %s", cmp.Or(q.Client, "an agent"), does)
	if q.Added+q.Removed > 0 {
		text += fmt.Sprintf(", +%d −%d lines", q.Added, q.Removed)
	}
	if end := q.Deadline(); end != "" {
		text += ". " + end
	}
	return plain(text)
}

// about names a question that was reported before.
func about(client, tool, path string) string {
	return fmt.Sprintf("%s, %s", plain(cmp.Or(client, "an agent")), plain(cmp.Or(path, tool)))
}

// ended says how a question ended.
func ended(c approval.Closing) string {
	switch c.How {
	case "expired":
		return "No answer in time, so it is not done"
	case "withdrawn":
		return "No longer open, " + plain(c.String())
	}
	return "Answered, " + plain(c.String())
}

// plain escapes characters that do not print.
func plain(s string) string { return invisible.Escape(s, nil) }

// lines does the same with each line of a text.
func lines(s string) string {
	all := strings.Split(s, "\n")
	for i, line := range all {
		all[i] = plain(line)
	}
	return strings.Join(all, "\n")
}

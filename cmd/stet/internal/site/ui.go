package site

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/notify"
	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/cmd/stet/internal/toolset"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/filetools"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/gateway"
	"github.com/stet-dev/stet/server/web"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tool"
)

// ui returns the handler for people's browsers, and sends messages to those that want them. An undo that they began ends with serving, not with their page.
func (s *Site) ui(serving context.Context, allowed []string) http.Handler {
	_, port, _ := net.SplitHostPort(s.config.Settings.Listen) // a page at another port has other logins
	push := notify.NewPush(filepath.Join(s.config.Tools.State, "push-"+port+".json"))
	h := &web.Handler{
		Queue: s.Queue, Hosts: allowed, Trail: s.account(), Records: s.account(), Sessions: s.Sessions,
		Authenticate: func(token string) (web.Person, bool) {
			who, ok := s.keys.May(token, gateway.Approvers)
			return personOf(who), ok
		},
		Holds: func(id string) (web.Person, bool) {
			if s.signIn != nil {
				if p, ok := s.signIn.Holds(id); ok {
					return p, true
				}
			}
			who, ok := s.keys.Person(id)
			return personOf(who), ok
		},
		Secret: s.secret, Buttons: s.config.Tools.Notify.Buttons(), Push: push,
		Refused: s.refused,
		Cost:    costOf(s.models), Window: func(model string) int { m, _ := s.models.Lookup(model); return m.Window },
		Next: func(r record.Request) (time.Time, float64, float64, bool) {
			w, known := report.NextRequest(r, s.models)
			return w.Until, w.Within, w.After, known && w.Matters()
		},
		Changes: s.account().Changes,
		Disk:    s.disk, Lift: s.lift, Compact: s.compact,
		Undo: func(_ context.Context, writes []record.Write, person, session string) error {
			return s.undo(serving, writes, person, session)
		},
		TakeBack: func(ctx context.Context, in web.TakeBack, person string) (web.TakenBack, error) {
			return s.config.TakeBack(ctx, s.account(), in, person)
		},
		ResumeCommand: commandToResume,
		Version:       s.config.Version, Settings: s.settings, Log: s.Log,
	}
	if s.signIn != nil {
		h.SignIn = s.signIn
	}
	push.May = h.Reads
	for _, native := range []bool{true, false} {
		s.guards.Go(func() { notify.Config{Push: push}.Follow(serving, s.Queue, native, nil, s.Log) })
	}
	return h
}

func personOf(who gateway.Identity) web.Person {
	return web.Person{ID: who.ID, Name: who.Name, Admin: who.May(gateway.Admins)}
}

// settings returns the settings that the UI shows.
func (s *Site) settings() []web.Setting {
	all := []web.Setting{{Name: "address", Value: s.Server.Base}}
	if s.Tools != nil {
		all = append(all, web.Setting{Name: "workspace", Value: s.config.Name, Note: s.Tools.Root.Dir()})
	}
	all = append(all, web.Setting{Name: "state", Value: filepath.Clean(s.config.Tools.State)})
	for _, set := range s.config.Settings.Settings() {
		if set.Key != "dedupe" { // stet serve does not use it
			all = append(all, web.Setting{Name: set.Key, Value: set.Value, Note: set.From})
		}
	}
	return all
}

// refused records a login to the UI with an invalid token.
func (s *Site) refused(_ context.Context, address string) {
	e := record.Entry{
		Kind: record.Call, Time: time.Now(), Root: "gateway", Session: "ui-" + address, Client: "browser at " + address, Tool: "login",
		Decision: "refused", By: "gateway", Outcome: string(tool.PermissionDenied),
	}
	if err := s.journal.Later(e); err != nil {
		s.Log.Error("audit trail", "err", err)
	}
}

// costOf returns a function that prices requests, if the model's prices are known.
func costOf(c *prices.Catalog) func(string, record.Usage, record.Usage) (float64, float64, bool) {
	return func(model string, used, whole record.Usage) (usd, saved float64, known bool) {
		m, _ := c.Lookup(model)
		return m.Bill(used, whole)
	}
}

// commandToResume returns the command that resumes a session from any directory.
func commandToResume(i session.Info) string {
	command := "stet chat --resume " + i.ID
	if i.Dir != "" {
		command += " --root '" + strings.ReplaceAll(i.Dir, "'", `'\''`) + "'"
	}
	return command
}

// undo undoes writes for a person, workspace by workspace. The person sees each change in the queue.
func (s *Site) undo(ctx context.Context, writes []record.Write, person, session string) error {
	var failed []error
	for _, ws := range toolset.By(writes, func(w record.Write) string { return w.Root }) {
		failed = append(failed, s.undoIn(ctx, ws[0].Root, ws, person, session))
	}
	return errors.Join(failed...)
}

func (s *Site) undoIn(ctx context.Context, dir string, writes []record.Write, person, session string) (err error) {
	var tools *filetools.Tools
	if s.Tools != nil && s.Tools.Root.Dir() == dir {
		tools = s.Tools.Files
	} else {
		root, err := toolset.OpenWorkspace(dir, s.config.Tools.State, s.config.Tools.Limits, s.Log)
		if err != nil {
			return fmt.Errorf("workspace %s: %w", workspace.Quote(dir), err)
		}
		defer func() { err = errors.Join(err, root.Close()) }()
		if tools, err = filetools.New(filetools.Config{Root: root}); err != nil {
			return err
		}
	}
	h := &approval.Handler{Approver: s.Queue, Root: dir, Rate: -1, Journal: s.journal, Log: s.Log}
	_, err = toolset.Undo(ctx, h, tools, writes, tool.Call{Session: session, Client: "undo for " + person})
	return err
}

// largestLook is the largest file that is read to detect changes.
const largestLook = 64 << 20

// disk returns the content hashes of files of a local workspace; "" if there is no file. Other files are left out.
func (s *Site) disk(ctx context.Context, dir string, paths []string) (map[string]string, error) {
	root := (*workspace.Root)(nil)
	if s.Tools != nil && s.Tools.Root.Dir() == dir {
		root = s.Tools.Root
	} else {
		var err error
		if root, err = toolset.OpenWorkspace(dir, s.config.Tools.State, s.config.Tools.Limits, s.Log); err != nil {
			return nil, err
		}
		defer func() { _ = root.Close() }() // it was only read
	}
	all := map[string]string{}
	for _, name := range paths {
		p, err := root.Path(name)
		if err != nil {
			continue
		}
		if info, err := root.Inspect(p); err == nil && info.Size > largestLook {
			continue
		}
		if v, err := root.Version(ctx, p); err == nil {
			all[name] = string(v)
		}
	}
	return all, ctx.Err()
}

// lift resumes a suspended client session in any process.
func (s *Site) lift(ctx context.Context, name, person string) error {
	left, err := record.Suspended(ctx, s.account())
	if err != nil {
		return err
	}
	for _, e := range left {
		switch {
		case e.Session != name:
		case s.Tools != nil && s.Tools.Root.Dir() == e.Root:
			return s.Tools.Handler.Resume(ctx, name, person)
		default:
			h := &approval.Handler{Journal: s.journal, Root: e.Root}
			return h.Resume(ctx, name, person)
		}
	}
	return fmt.Errorf("%s: this session is not suspended", workspace.Quote(name))
}

package agents

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
)

// Proxied is the result of sending an agent through the proxy, also for a dry run.
type Proxied struct {
	File    string   // the agent's configuration file
	Changes []string // `env.ANTHROPIC_BASE_URL = "http://…"`, one for each value that changes
	Asked   []string // the URLs that the agent asked, if they are not the provider's
	Left    []string // what was not changed, and why
	Kept    string   // the copy of the old file; empty if there was none
	Note    string   // what else the person should know; may be empty
	Forward bool     // it uses the forward proxy
}

// AddProxy has an agent ask at base ("http://127.0.0.1:4141") in all of its runs, and notes in the file state what was there. If the agent
// asked somewhere else than at its provider, its address names it, and Lasting.Asked has where. With dry nothing is written. What else the
// agent's file holds stays as it is, and a copy of it is kept next to it.
//
// An agent that leaves out something at a base URL uses base as a forward proxy, if its configuration allows that. trusting returns the file
// with the certificate of that proxy, after certificates that the person has; nil: there is no forward proxy.
func (m Machine) AddProxy(name, base, state string, dry bool, trusting func(own []byte) (string, error)) (Proxied, error) {
	a, out, err := m.lastingOf(name)
	if err != nil {
		return out, err
	}
	all, err := ReadLasting(state)
	if err != nil {
		return out, err
	}
	before := all[name]
	if before.File != "" && before.File != out.File {
		return out, fmt.Errorf("%s was sent through the proxy in %s before: take that out first, with --remove", name, before.File)
	}
	f, err := readConfig(out.File, a.lasting.toml)
	if err != nil {
		return out, err
	}
	old := f.text
	m.Lasting = all
	forward := trusting != nil && a.lasting.env != "" && m.forwardHost(a, []string{a.programs[0]}) != ""
	if forward != (before.Trust != "") { // what the other way needed is taken out
		for _, v := range slices.Backward(before.Values) {
			err = errors.Join(err, f.restore(v, &out))
		}
		before.Values, m.Lasting = nil, nil
	}
	done := LastingAgent{File: out.File}
	if forward {
		err = errors.Join(err, m.addForward(f, a.lasting.env, base, before, &done, &out, trusting))
	} else {
		err = errors.Join(err, m.addBaseURLs(f, a, base, before, &done, &out))
	}
	if err != nil {
		return out, fmt.Errorf("%s: %w; nothing was written", out.File, err)
	}
	if dry {
		return out, nil
	}
	all[name] = done
	if err := writeState(state, all); err != nil {
		return out, err
	}
	if !bytes.Equal(old, f.text) {
		out.Kept, err = f.write()
	}
	return out, err
}

// addForward sets the variables by which an agent uses base as its forward proxy. Agents and what they start read different spellings.
func (m Machine) addForward(f *configFile, env, base string, before LastingAgent, done *LastingAgent, out *Proxied, trusting func([]byte) (string, error)) error {
	own := func(names ...string) (_, value string) { // what the person has there or in the environment
		for _, name := range names {
			row, _, _, err := before.row(f, []string{env, name}, "")
			if err == nil && row.Was != nil {
				return name, *row.Was
			}
		}
		return m.firstSet(names...)
	}
	variable, certificates := own("NODE_EXTRA_CA_CERTS")
	file, note, err := m.trustFile(trusting, variable, certificates)
	if err != nil {
		return err
	}
	if note != "" {
		out.Left = append(out.Left, note)
	}
	done.Trust, out.Forward = file, true
	_, list := own("NO_PROXY", "no_proxy")
	direct := withDirect(list, loopback)
	for _, v := range [][2]string{{"HTTPS_PROXY", base}, {"https_proxy", base}, {"NO_PROXY", direct}, {"no_proxy", direct}, {"NODE_EXTRA_CA_CERTS", file}} {
		if err := f.put(LastingValue{Path: []string{env, v[0]}, Ours: v[1]}, before, done, out); err != nil {
			return err
		}
	}
	return nil
}

// addBaseURLs replaces the base URLs in an agent's configuration by the proxy's address.
func (m Machine) addBaseURLs(f *configFile, a *agent, base string, before LastingAgent, done *LastingAgent, out *Proxied) error {
	values := a.lasting.values(m)
	if len(values) == 0 {
		return fmt.Errorf("it has no provider that stet knows: configure %s first", a.name)
	}
	for _, v := range values {
		text := f.text
		row, change, err := m.addBaseURL(f, v, before, a.name, base)
		if err != nil {
			return err
		}
		if other := done.asksElsewhere(row); other != "" {
			f.text = text
			out.Left = append(out.Left, fmt.Sprintf("%s stays as it is: it asks at %s, and the proxy sends requests of that API to %s", strings.Join(v.path, "."), row.Asked, other))
			continue
		}
		if change != "" {
			out.Changes = append(out.Changes, change)
		}
		if row.Asked != "" {
			out.Asked = append(out.Asked, row.Asked)
		}
		done.Values = append(done.Values, row)
	}
	if err := m.keepBehaviour(f, a.name, before, done, out); err != nil {
		return err
	}
	for _, v := range before.Values { // a provider that is no longer chosen
		if len(v.APIs) > 0 && !slices.ContainsFunc(done.Values, func(d LastingValue) bool { return slices.Equal(d.Path, v.Path) }) {
			done.Values = append(done.Values, v)
		}
	}
	return nil
}

// keepBehaviour sets what keeps the agent's own behaviour at a base URL, and takes out what was set for another version or another upstream.
func (m Machine) keepBehaviour(f *configFile, name string, before LastingAgent, done *LastingAgent, out *Proxied) error {
	k := m.keepLasting(name, f, *done, before.Values)
	for _, v := range before.Values {
		if len(v.APIs) > 0 || k != nil && slices.Equal(v.Path, k.Path) && v.Ours == k.Ours {
			continue
		}
		if err := f.restore(v, out); err != nil {
			return err
		}
	}
	if k == nil {
		return nil
	}
	return f.put(*k, before, done, out)
}

// put sets a value, and adds its row to done.
func (f *configFile) put(v LastingValue, before LastingAgent, done *LastingAgent, out *Proxied) error {
	row, now, there, err := before.row(f, v.Path, v.Ours)
	if err != nil {
		return err
	}
	row.Bool = v.Bool
	done.Values = append(done.Values, row)
	if there && now == v.Ours {
		return nil
	}
	value := fmt.Sprintf("%q", v.Ours)
	if v.Bool {
		value = v.Ours
	}
	out.Changes = append(out.Changes, strings.Join(v.Path, ".")+" = "+value)
	return f.set(v.Path, v.value(v.Ours), there)
}

// restore puts back what a value has replaced. A value that was changed since stays, and the note names it.
func (f *configFile) restore(v LastingValue, out *Proxied) error {
	key := strings.Join(v.Path, ".")
	now, there, err := f.lookup(v.Path)
	switch {
	case err != nil:
		return err
	case now != v.Ours:
		if there {
			out.Note = key + " was changed since, and stays"
		}
		return nil
	case v.Was != nil:
		out.Changes = append(out.Changes, fmt.Sprintf("%s = %q", key, *v.Was))
		return f.set(v.Path, v.value(*v.Was), true)
	}
	out.Changes = append(out.Changes, key+" is removed")
	return f.remove(v.Path, v.Made)
}

// asksElsewhere returns the server that an earlier value uses for an API of v, if it is another server. Each API has one server.
func (l LastingAgent) asksElsewhere(v LastingValue) string {
	for _, known := range l.Values {
		if known.Asked != "" && v.Asked != "" && known.Asked != v.Asked && slices.ContainsFunc(v.APIs, func(a string) bool { return slices.Contains(known.APIs, a) }) {
			return known.Asked
		}
	}
	return ""
}

// addBaseURL replaces a base URL by the proxy's address. change is empty if the file has that address already.
func (m Machine) addBaseURL(f *configFile, v baseURL, known LastingAgent, name, base string) (row LastingValue, change string, err error) {
	row, now, there, err := known.row(f, v.path, "")
	if err != nil {
		return row, "", err
	}
	row.APIs = v.apis
	asks := v.asks
	if row.Was != nil {
		asks = m.expand(*row.Was)
	}
	if asks, err = upstreamOf(asks, base); err == nil && there {
		for _, k := range known.Values { // the proxy may have had another address
			if slices.Equal(k.Path, v.path) && k.Ours == now && err == nil {
				asks, err = upstreamOf(asks, k.Ours)
			}
		}
	}
	if err != nil {
		return row, "", fmt.Errorf("%s: %w", strings.Join(v.path, "."), err)
	}
	if asks == "" {
		row.Was = nil // the old value was the proxy's own address
	} else {
		row.Asked = asks
		base += "/stet/" + name
	}
	if row.Ours = inPlaceOf(asks, base); v.bare {
		row.Ours = base
	}
	if now == row.Ours {
		return row, "", nil
	}
	return row, fmt.Sprintf("%s = %q", strings.Join(v.path, "."), row.Ours), f.set(v.path, row.Ours, there)
}

// upstreamOf returns a base URL that requests can be forwarded to; empty for the proxy's own address, base.
func upstreamOf(asks, base string) (string, error) {
	u, err := url.Parse(asks)
	switch ours, _ := url.Parse(base); {
	case asks == "":
		return "", nil
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("the value is not a base URL, which begins with http:// or https://")
	case u.User != nil:
		return "", errors.New("the base URL there has a user name: take it out; the agent sends its own key")
	case ours != nil && u.Port() == ours.Port() && (u.Hostname() == ours.Hostname() || u.Hostname() == "localhost"):
		return "", nil
	}
	return asks, nil
}

// RemoveProxy restores the values that AddProxy has replaced in an agent's configuration. A value that was changed since stays, and
// the note names it.
func (m Machine) RemoveProxy(name, state string, dry bool) (Proxied, error) {
	all, err := ReadLasting(state)
	if err != nil {
		return Proxied{}, err
	}
	done, ok := all[name]
	a, out, err := m.lastingOf(name)
	switch {
	case err != nil:
		return out, err
	case !ok:
		return out, fmt.Errorf("%s was not sent through the proxy by stet setup", name)
	}
	out.File, out.Note = done.File, ""
	f, err := readConfig(done.File, a.lasting.toml)
	if err != nil {
		return out, err
	}
	old := f.text
	for _, v := range slices.Backward(done.Values) {
		if err := f.restore(v, &out); err != nil {
			return out, fmt.Errorf("%s: %w; nothing was written", done.File, err)
		}
	}
	if dry {
		return out, nil
	}
	if !bytes.Equal(old, f.text) {
		out.Kept, err = f.writeRest()
	}
	if err != nil {
		return out, err
	}
	if done.Trust != "" {
		_ = os.Remove(done.Trust) // stet uninstall finds it too
	}
	delete(all, name)
	return out, writeState(state, all)
}

func (m Machine) lastingOf(name string) (*agent, Proxied, error) {
	a := find(name)
	if a == nil || a.lasting == nil {
		return nil, Proxied{}, fmt.Errorf("unknown agent %q", name)
	}
	file := a.lasting.file(m)
	if file == "" {
		return nil, Proxied{}, fmt.Errorf("the configuration of %s: %w", name, ErrNoHome)
	}
	return a, Proxied{File: file, Note: a.lasting.note}, nil
}

// ProxyChanged returns the values that AddProxy set in an agent's configuration and that have changed since, or that it would set or
// take out now.
func (m Machine) ProxyChanged(name string, lasting Lasting) (changed []string, err error) {
	done, ok := lasting[name]
	a, _, unknown := m.lastingOf(name)
	if !ok || unknown != nil {
		return nil, nil
	}
	f, err := readConfig(done.File, a.lasting.toml)
	if err != nil {
		return nil, err
	}
	for _, v := range done.Values {
		now, _, err := f.lookup(v.Path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", done.File, err)
		}
		if now != v.Ours {
			changed = append(changed, strings.Join(v.Path, "."))
		}
	}
	if done.Trust != "" {
		if _, err := os.Stat(done.Trust); err != nil {
			changed = append(changed, done.Trust)
		}
		return changed, nil
	}
	var now Proxied
	if err := m.keepBehaviour(f, name, done, &LastingAgent{Values: done.Values}, &now); err != nil {
		return nil, fmt.Errorf("%s: %w", done.File, err)
	}
	for _, change := range now.Changes {
		if key, _, _ := strings.Cut(change, " "); !slices.Contains(changed, key) {
			changed = append(changed, key)
		}
	}
	return changed, nil
}

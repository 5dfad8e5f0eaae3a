package hazards

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// description is the part of an OpenAPI or AsyncAPI document that this test walks.
type description struct {
	Paths map[string]map[string]struct {
		Parameters  []struct{ Name, In string }
		RequestBody any
	}
	Operations map[string]struct {
		Action   string
		Messages []struct {
			Ref string `json:"$ref"`
		}
	}
	Components struct {
		Messages map[string]struct{ Payload schema }
	}
}

type schema struct {
	Type       any
	Const      any
	MaxLength  *int
	Properties map[string]schema
	Items      *schema
}

func (s schema) is(kind string) bool {
	all, _ := s.Type.([]any)
	return s.Type == kind || slices.Contains(all, any(kind))
}

// strings returns the paths of all strings in a value of the schema, and whether the schema limits them.
func (s schema) strings(at string) map[string]bool {
	all := map[string]bool{}
	switch {
	case s.is("string") && s.Const == nil:
		all[at] = s.MaxLength != nil
	case s.is("array") && s.Items != nil:
		maps.Copy(all, s.Items.strings(at+"/0"))
	}
	for name, p := range s.Properties {
		maps.Copy(all, p.strings(at+"/"+name))
	}
	return all
}

// value returns a value of the schema. The string at the path is the given one; other members are short.
func (s schema) value(at, path, long string) any {
	switch {
	case s.Const != nil:
		return s.Const
	case at == path:
		return long
	case s.is("string") && strings.HasSuffix(at, "role"):
		return "agent"
	case s.is("string"):
		return "YWJj"
	case s.is("integer"):
		return 1
	case s.is("boolean"):
		return false
	case s.is("array"):
		return []any{s.Items.value(at+"/0", path, long)}
	}
	v := map[string]any{}
	for name, p := range s.Properties {
		if in := at + "/" + name; strings.HasPrefix(path+"/", in+"/") || !p.is("object") && !p.is("array") && name != "workspace" && name != "resume" {
			v[name] = p.value(in, path, long)
		}
	}
	return v
}

// describe reads a document of the gateway.
func describe(t *testing.T, file string) (d description) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Ten megabytes in any string of the gateway's API descriptions (path, query, header, body, frame of each role) and of an MCP message are
// refused or passed on, and the server keeps none of it. (FILE-3, FILE-10)
func TestTenMegabytesInEveryString(t *testing.T) {
	s := newWorld(t).site()
	_, before := memory(t, s.cmd)
	long, tried := strings.Repeat("n", 10<<20), 0
	send := func(what, method, to string, head http.Header, body string) {
		tried++
		req, err := http.NewRequest(method, s.base+to, strings.NewReader(body))
		if err != nil {
			t.Fatal(what, err)
		}
		if req.Header = head; head.Get("Authorization") == "" {
			head.Set("Authorization", "Bearer "+s.agent)
		}
		resp, err := (&http.Client{Timeout: time.Minute}).Do(req)
		if err != nil {
			return // the server closed the connection before it had all
		}
		defer resp.Body.Close()
		if answer, err := io.ReadAll(resp.Body); err != nil || len(answer) > 1<<20 || resp.StatusCode < 400 && !bytes.Contains(answer, []byte(`"error"`)) {
			t.Errorf("%s: %s, %d bytes: %.300s", what, resp.Status, len(answer), answer)
		}
	}
	for at, operations := range describe(t, "../../server/gateway/openapi.json").Paths {
		for method, o := range operations {
			method = strings.ToUpper(method)
			fill := func(name, with string) string {
				for _, p := range o.Parameters {
					value := "read_file"
					if p.Name == name {
						value = with
					}
					at = strings.ReplaceAll(at, "{"+p.Name+"}", value)
				}
				return at
			}
			template := at
			for _, p := range o.Parameters {
				at = template
				to := fill(p.Name, long)
				if p.In == "query" {
					to = fill("", "") + "?" + url.Values{p.Name: {long}}.Encode()
				}
				send(method+" "+template+" "+p.Name, method, to, http.Header{}, "{}")
			}
			at = template
			to := fill("", "")
			for _, name := range []string{"Authorization", "User-Agent", "X-Any"} {
				send(method+" "+template+" "+name, method, to, http.Header{name: {"Bearer " + long}}, "{}")
			}
			if o.RequestBody != nil {
				for _, body := range []string{`{"path":"` + long + `"}`, `{"` + long + `":1}`, `"` + long + `"`} {
					send(method+" "+template+" body", method, to, http.Header{}, body)
				}
			}
			at = template
		}
	}
	s.longMCP(long, send)
	host := strings.TrimSpace(lastLine(s.run("token", "create", "hosts", "--scope", "host")))
	frames := describe(t, "../../server/gateway/wire/asyncapi.json")
	for name, o := range frames.Operations {
		role, ok := strings.CutSuffix(name, "Sends")
		if !ok {
			continue
		}
		token := map[string]string{"agent": s.agent, "host": host, "person": s.person}[role]
		for _, m := range o.Messages {
			kind := path.Base(m.Ref)
			payload := frames.Components.Messages[kind].Payload
			for at, limited := range payload.strings("") {
				tried++
				frame, err := json.Marshal(payload.value("", at, long))
				if err != nil {
					t.Fatal(err)
				}
				first := frame
				if kind != "hello" {
					first = []byte(`{"type":"hello","version":1,"role":"` + role + `","workspace":"` + map[string]string{"host": "w"}[role] + `"}`)
				}
				c, answer := s.connect(token, first)
				if kind == "hello" && c != nil && !bytes.Contains(answer, []byte(`"type":"error"`)) {
					t.Errorf("%s of %s: %s is taken: %.200s", kind, role, at, answer)
				}
				if kind != "hello" && c == nil {
					t.Fatalf("%s is not greeted", role)
				}
				if kind != "hello" && !s.refuses(c, frame) && limited {
					t.Errorf("%s of %s: %s is taken", kind, role, at)
				}
				if c != nil {
					_ = c.CloseNow()
				}
			}
		}
	}
	s.keeps(before, fmt.Sprint(tried, " long strings"))
	bounded(t, "stet serve", s.cmd)
}

// longMCP sends MCP messages with a long string in each place.
func (s *site) longMCP(long string, send func(what, method, to string, head http.Header, body string)) {
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":"?","method":"?","params":{"protocolVersion":"?","capabilities":{"experimental":{"?":"?"}},"clientInfo":{"name":"?","version":"?","title":"?"},"_meta":{"progressToken":"?"}}}`,
		`{"jsonrpc":"2.0","id":"?","method":"tools/call","params":{"name":"?","requestState":"?","_meta":{"progressToken":"?","?":"?"}}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"?"}]`,
	} {
		parts := strings.Split(message, "?")
		for i := 1; i < len(parts); i++ {
			body := strings.Join(parts[:i], "x") + long + strings.Join(parts[i:], "x")
			head := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
			send("MCP "+message, "POST", "/mcp", head, body)
		}
	}
	for _, name := range []string{"Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-Id"} {
		send("MCP "+name, "POST", "/mcp", http.Header{name: {long}, "Content-Type": {"application/json"}}, "{}")
		send("MCP "+name, "POST", "/mcp", http.Header{name: {long[:300]}, "Content-Type": {"application/json"}}, "{}")
	}
}

// refuses sends a frame, and reports whether the answer is an error, or the end of the connection.
func (s *site) refuses(c *websocket.Conn, frame []byte) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := c.Write(ctx, websocket.MessageText, frame); err != nil {
		return true
	}
	for {
		_, b, err := c.Read(ctx)
		if err != nil {
			return ctx.Err() == nil
		}
		var f struct{ Type string }
		if json.Unmarshal(b, &f) == nil && (f.Type == "error" || f.Type == "tool_result") {
			return true
		}
	}
}

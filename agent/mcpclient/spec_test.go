package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A schema without properties, or of another form, is converted to the form that every endpoint accepts. A schema that has this
// form is unchanged.
func TestSchemas(t *testing.T) {
	empty := `{"type":"object","properties":{}}`
	for in, want := range map[string]string{
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"}]}},"required":["a"]}`: "",
		`{"type":"object"}`: `{"properties":{},"type":"object"}`,
		`{}`:                `{"properties":{},"type":"object"}`,
		`null`:              empty,
		`true`:              empty,
		`"words"`:           empty,
		`{"type":["object","null"],"properties":[]}`:     `{"properties":{},"type":"object"}`,
		`{"type":"object","oneOf":[{"required":["a"]}]}`: `{"properties":{},"type":"object"}`,
	} {
		var schema any
		if err := json.Unmarshal([]byte(in), &schema); err != nil {
			t.Fatal(err)
		}
		got, beside := schemaOf(schema)
		if want == "" {
			b, err := json.Marshal(schema)
			if err != nil {
				t.Fatal(err)
			}
			want = string(b)
		}
		if string(got) != want || (beside != "") != strings.Contains(in, "oneOf") {
			t.Errorf("%s is told as %s %q", in, got, beside)
		}
	}
	spec := specOf(&mcp.Tool{Description: strings.Repeat("ü", maxAbout), InputSchema: true})
	if n := len(spec.Description); n > maxAbout+len("…") || n < maxAbout-1 {
		t.Errorf("a description of %d bytes", n)
	}
}

// many returns a server with the given number of tools, whose schemas have size bytes each.
func many(t *testing.T, tools, size int, name func(int) string) Server {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "many", Version: "1"}, &mcp.ServerOptions{PageSize: 50})
	for i := range tools {
		schema := json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"x":{"type":"string","description":%q}}}`, strings.Repeat("x", size)))
		s.AddTool(&mcp.Tool{Name: name(i), InputSchema: schema}, nil)
	}
	over := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(over.Close)
	return Server{Name: "many", URL: over.URL}
}

// Servers may have any number of tools, with schemas of any size. The model gets as many as the limits allow, and a person is
// told that some are missing.
func TestTooManyTools(t *testing.T) {
	named := func(i int) string { return fmt.Sprintf("t%05d", i) }
	alike := func(i int) string { return strings.Repeat("a", i%20+1) + strings.Repeat(".", i/20+1) } // some of the names become equal
	for _, c := range []struct {
		tools, size, want int
		name              func(int) string
	}{{100, 10, 100, named}, {3000, 10, 100, named}, {2000, 10, 100, alike}, {40, 10_000, 19, named}, {2, maxSpecs, 0, named}} {
		_, set, troubles := open(t, Config{}, many(t, c.tools, c.size, c.name), self(t, "server"))
		own := 0
		for _, n := range names(set) {
			if strings.HasPrefix(n, "mcp__many__") {
				own++
			}
		}
		told := slices.ContainsFunc(troubles, func(err error) bool {
			return errors.Is(err, ErrPart) && strings.HasPrefix(err.Error(), fmt.Sprintf("MCP server many: only a part of its tools is used, %d: ", own))
		})
		if own != c.want || len(names(set)) > maxTools || told != (c.tools != c.want) {
			t.Errorf("of %d tools of %d bytes %d are used, %d in all: %v", c.tools, c.size, own, len(names(set)), troubles)
		}
	}
}

// A server with a malformed list of tools is reported.
func TestMalformedToolList(t *testing.T) {
	_, set, troubles := open(t, Config{}, self(t, "muddled"))
	if len(names(set)) != 0 || len(troubles) != 1 || !strings.Contains(troubles[0].Error(), "unmarshal") {
		t.Fatal(names(set), troubles)
	}
}

package llm_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"pgregory.net/rapid"
)

func TestCallIDs(t *testing.T) { // CTX-3
	ids := llm.CallIDs{Max: 20, Plain: true}
	long := strings.Repeat("a", 30)
	for i, c := range []struct {
		result   bool
		id, want string
	}{
		{false, "toolu_1", "toolu_1"}, {true, "toolu_1", "toolu_1"},
		{false, "functions.read:0", "functions_re"}, {false, "functions.read:1", "functions_re_2"},
		{true, "functions.read:1", "functions_re_2"}, {true, "functions.read:0", "functions_re"},
		{false, "same", "same"}, {false, "same", "same_2"}, {true, "same", "same"}, {true, "same", "same_2"}, {true, "same", "same_2"},
		{false, "same_2", "same_2_2"}, {true, "same_2", "same_2_2"},
		{false, "", "call"}, {true, "", "call"}, {false, long, "aaaaaaaaaaaa"}, {true, long, "aaaaaaaaaaaa"},
		{true, "nobody's", "nobody_s"},
	} {
		ask := ids.Call
		if c.result {
			ask = ids.Result
		}
		if got := ask(c.id); got != c.want {
			t.Errorf("%d: %q became %q, want %q", i, c.id, got, c.want)
		}
	}
}

// For any ids, the sent ids are valid and unique, and each result has the id of its call. New calls do not change earlier ids.
func TestCallIDsProperty(t *testing.T) { // CTX-3
	legal := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
	rapid.Check(t, func(t *rapid.T) {
		drawn := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a", "a_2", "a.2", "", "call"})), 0, 20).Draw(t, "ids")
		ids := llm.CallIDs{Max: 40, Plain: true}
		half := llm.CallIDs{Max: 40, Plain: true}
		seen := map[string]bool{}
		for i, id := range drawn {
			out := ids.Call(id)
			if !legal.MatchString(out) || seen[out] {
				t.Fatalf("%q is sent as %q, seen %v", id, out, seen)
			}
			if legal.MatchString(id) && !seen[id] && out != id {
				t.Fatalf("%q is legal and was sent as %q", id, out)
			}
			seen[out] = true
			if i < len(drawn)/2 && half.Call(id) != out {
				t.Fatal("what follows changes what was there")
			}
			if got := ids.Result(id); got != out {
				t.Fatalf("the result of %q is sent as that of %q", out, got)
			}
		}
	})
}

func TestLegalName(t *testing.T) { // CTX-3
	for name, want := range map[string]string{
		"read_file": "read_file", "mcp__x-y": "mcp__x-y", "": "unknown__", "functions.read file!": "unknown__functions_read_file_",
		"lösche": "unknown__l_sche", strings.Repeat("a", 64): strings.Repeat("a", 64),
		strings.Repeat("a", 65): "unknown__" + strings.Repeat("a", 55),
	} {
		got := llm.LegalName(name, 64)
		if got != want || llm.LegalName(got, 64) != got {
			t.Errorf("%q became %q, want %q", name, got, want)
		}
	}
}

func TestImageOf(t *testing.T) { // CTX-3
	bytes := llm.Image{MediaType: "image/png", Data: "AA=="}
	link := llm.Image{URL: "https://example.test/a.png"}
	for raw, want := range map[string]llm.Image{
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}`:   bytes,
		`{"type":"image","source":{"type":"url","url":"https://example.test/a.png"}}`:          link,
		`{"type":"image","data":"AA==","mimeType":"image/png"}`:                                bytes,
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,AA==","detail":"low"}}`: bytes,
		`{"type":"image_url","image_url":"https://example.test/a.png"}`:                        link,
		`{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,AA=="}`:      bytes,
		`{"type":"input_image","image_url":"https://example.test/a.png"}`:                      link,

		`{"type":"image","source":{"type":"file","file_id":"f"}}`:               {},
		`{"type":"image","source":"x"}`:                                         {},
		`{"type":"input_image","file_id":"f"}`:                                  {},
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,A"}}`:    {},
		`{"type":"image_url","image_url":{"url":"data:text/html;base64,AA=="}}`: {},
		`{"type":"image_url","image_url":{"url":"file:///a.png"}}`:              {},
		`{"type":"text","text":"x"}`:                                            {}, `[]`: {}, `{`: {},
	} {
		got, ok := llm.ImageOf(raw)
		if ok != (want != llm.Image{}) || ok && got != want {
			t.Errorf("%s: %+v, %v", raw, got, ok)
		}
	}
	if bytes.Link() != "data:image/png;base64,AA==" || link.Link() != link.URL {
		t.Error(bytes.Link(), link.Link())
	}
}

func TestInWords(t *testing.T) { // CTX-3
	got := []string{}
	for _, c := range [][2]string{{`{"type":"refusal","refusal":"No."}`, "refusal"}, {`{"type":"refusal"}`, "refusal"}, {`{}`, ""}, {`{"type":"x"}`, "x"}} {
		p := llm.InWords(c[0], c[1])
		got = append(got, fmt.Sprint(p.Kind, p.Text))
	}
	want := []string{"textNo.", "text[left out: a part of type refusal that this model's API has no word for]",
		"text[left out: a part that this model's API has no word for]", "text[left out: a part of type x that this model's API has no word for]"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

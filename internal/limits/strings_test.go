package limits

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

type message struct {
	Name  string    `json:"name"`
	Words string    `json:"words" max:"-"`
	Paths []string  `json:"paths" max:"10"`
	At    time.Time `json:"at"`
	Data  []byte    `json:"data"`
	In    *message  `json:"in"`
	All   []message `json:"all"`
	Keep  []int     `json:"keep" max:"-"`
}

// Strings and lists have limits, at any depth; Cut shortens them without breaking a character.
func TestStrings(t *testing.T) {
	long := strings.Repeat("ä", 200) // 400 bytes
	for want, e := range map[string]message{
		"":                                     {Name: long[:256], Words: long, Paths: []string{"0123456789"}, Data: make([]byte, 5000), Keep: make([]int, 5000)},
		"name has 257 bytes, at most 256":      {Name: long[:257]},
		"name has 400 bytes, at most 256":      {In: &message{All: []message{{}, {Name: long}}}},
		"paths has 11 bytes, at most 10":       {Paths: []string{"", "0123456789a"}},
		"paths has 1001 entries, at most 1000": {Paths: make([]string, 1001)},
	} {
		if err := Strings(&e); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	e := message{Name: "a" + long, Words: long, Paths: append(make([]string, 1000), long), All: []message{{Paths: []string{long}}}}
	Cut(&e)
	if e.Name != "a"+long[:254] || e.Words != long || len(e.Paths) != 1000 || e.All[0].Paths[0] != long[:10] || Strings(e) != nil {
		t.Errorf("%+v", e)
	}
}

func TestURL(t *testing.T) {
	for want, u := range map[string]string{
		"":                                 "/a/" + strings.Repeat("b", 256) + "?q=" + strings.Repeat("c", 4096),
		"a part of the path has 257 bytes": "/a/" + strings.Repeat("b", 257),
		`"q" has 4097 bytes`:               "/?x=1&q=" + strings.Repeat("c", 4097),
		`has 5000 bytes`:                   "/?" + strings.Repeat("k", 5000),
		`"kind" is given 1001 times`:       "/?" + strings.Repeat("kind=a&", 1001),
	} {
		parsed, err := url.Parse(u)
		if err != nil {
			t.Fatal(err)
		}
		if why := URL(parsed); want == "" && why != "" || !strings.Contains(why, want) {
			t.Errorf("%q, want %q", why, want)
		}
	}
}

package rpclines

import (
	"strings"
	"testing"
)

// Names, lists and the whole have limits; payloads have none.
func TestOversize(t *testing.T) {
	long, list := strings.Repeat("n", 300), "["+strings.Repeat("1,", 1000)+"1]"
	for message, want := range map[string]string{
		`{"id":1,"method":"call","params":{"name":"x","payload":{"name":"` + strings.Repeat(long, 10) + `","a":` + list + `}}}`: "",
		`{"id":1,"method":"c\u0061ll","params":{"payload":{"name":"` + long + `"}}}`:                                            "", // as some clients write tools\/call
		`{"id":1,"result":{"name":"` + strings.Repeat(long, 10) + `"}}`:                                                         "",
		`{"id":1,"method":"call","params":{"name":"` + long + `"}}`:                                                             "name has 300 bytes, at most 256",
		`{"id":"` + long + `","method":"call"}`:                                                                                 "id has 300 bytes",
		`{"method":"` + long + `"}`:                                                                                             "method has 300 bytes",
		`{"method":"other","params":{"payload":{"version":"` + long + `"}}}`:                                                    "version has 300 bytes",
		`{"method":"other","params":{"a":{"b":` + list + `}}}`:                                                                  "b has 1001 entries",
		`{"method":"other","params":{"a":"` + strings.Repeat(long, 10) + `"}}`:                                                  "bytes besides its payload, at most 2500",
		`not JSON`: "",
	} {
		most := 2500
		if strings.Contains(message, list) {
			most = 1 << 20
		}
		if why := Oversize([]byte(message), most, map[string]string{"call": "payload"}); want == "" && why != "" || !strings.Contains(why, want) {
			t.Errorf("%.60s: %q, want %q", message, why, want)
		}
	}
}

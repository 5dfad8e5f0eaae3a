package llm

import (
	"slices"

	"github.com/stet-dev/stet/internal/rawjson"
)

// maxUnknown is the limit of names that UnknownUsage returns.
const maxUnknown = 8

// UnknownUsage returns the names of the members of a usage object, and of the objects in it, that are not known and count
// something: their value is not 0, null, false or empty. A member inside an object has the object's name before it, with a dot. It names a few at most.
func UnknownUsage(raw []byte, known []string) []string {
	var out []string
	s := rawjson.New(raw)
	unknownIn(&s, raw, "", known, &out)
	return out
}

func unknownIn(s *rawjson.Scanner, raw []byte, at string, known []string, out *[]string) {
	if s.Kind() != '{' {
		s.Skip()
		return
	}
	for s.Enter('{'); s.Next() && len(*out) < maxUnknown; {
		name := at + string(s.Key())
		if s.Kind() == '{' && !slices.Contains(known, name) {
			unknownIn(s, raw, name+".", known, out)
			continue
		}
		if value := string(s.Skip().Of(raw)); !slices.Contains(known, name) && len(name) <= 64 && !slices.Contains(nothing, value) {
			*out = append(*out, name)
		}
	}
}

// nothing are values that count nothing.
var nothing = []string{"0", "0.0", "null", "false", `""`, "[]"}

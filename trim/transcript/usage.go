package transcript

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
)

// The usage that files report. An object of the Messages API is read by the API's codec. The agents' own forms are structs.

// usageOf returns the usage in an object of the Messages API, or nil. It counts the members that the codec does not know.
func (src *File) usageOf(raw json.RawMessage) *llm.Usage {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	raw = wholeNumber.ReplaceAll(raw, []byte("$1$2$3$4"))
	u, err := anthropic.Messages{}.UsageOf(raw)
	if err != nil {
		src.count(err.Error())
		return nil
	}
	for _, name := range anthropic.UnknownUsage(raw) {
		src.count(name)
	}
	return orNil(u)
}

// skipped is a number in usage that changes no price.
type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }

// wholeNumber is a whole number that is written as 10.0 or "10".
var wholeNumber = regexp.MustCompile(`(:\s*)(?:"(\d+)(?:\.0+)?"|(\d+)\.0+)(\s*[,}])`)

// agentUsage is an agent's own form of usage.
type agentUsage interface{ usage() *llm.Usage }

// usageIn returns the usage in an object of an agent's own form, or nil.
func usageIn[T agentUsage](src *File, raw json.RawMessage) *llm.Usage {
	var u T
	if !src.usage(raw, &u) {
		return nil
	}
	return u.usage()
}

// usage decodes the usage that a file reports. It counts the numbers for which the type of v has no member. It reports
// whether there is usage.
func (src *File) usage(raw json.RawMessage, v any) bool {
	if len(raw) == 0 || raw[0] != '{' {
		return false
	}
	raw = wholeNumber.ReplaceAll(raw, []byte("$1$2$3$4"))
	if decode(raw, v) != nil {
		return false
	}
	shape := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return -1
		}
		return c
	}, string(raw))
	if !src.allKnown[shape] && src.unknown(raw, reflect.TypeOf(v).Elem(), "") && len(src.allKnown) < 1000 {
		if src.allKnown == nil {
			src.allKnown = map[string]bool{}
		}
		src.allKnown[shape] = true
	}
	return true
}

// unknown counts the numbers in an object that have no member in t. It reports whether there is no such member.
func (src *File) unknown(raw json.RawMessage, t reflect.Type, path string) (none bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return false
	}
	none = true
	known := namesOf(t)
	for name, value := range members {
		at := path + name
		if f, ok := known[name]; ok {
			if f.Kind() == reflect.Int && json.Unmarshal(value, new(int)) != nil {
				src.count(at) // it is not read
			}
			if f.Kind() == reflect.Struct && f != reflect.TypeFor[skipped]() && len(value) > 0 && value[0] == '{' {
				none = src.unknown(value, f, at+".") && none
			}
			continue
		}
		none = false
		switch {
		case len(value) == 0:
		case value[0] == '{':
			src.unknown(value, reflect.TypeFor[struct{}](), at+".")
		case (value[0] == '-' || value[0] >= '0' && value[0] <= '9') && strings.Trim(string(value), "-0.") != "":
			src.count(at)
		}
	}
	return none
}

// count counts a member of usage that is not read.
func (src *File) count(at string) {
	if src.unknownUsage == nil {
		src.unknownUsage = map[string]int{}
	}
	src.unknownUsage[src.format+": "+at]++
}

// orNil returns nil for usage that was not reported.
func orNil(u llm.Usage) *llm.Usage {
	if u.IsZero() {
		return nil
	}
	return &u
}

// uncached returns the input tokens that were neither read from nor written to the cache. total includes these.
func uncached(total int, cached ...int) int {
	for _, n := range cached {
		total -= n
	}
	return max(total, 0)
}

package transcript

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// messagesUsage is the usage object of the Messages API.
type messagesUsage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	Creation   struct {
		Short int `json:"ephemeral_5m_input_tokens"`
		Hour  int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Details struct {
		Thinking int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	Server struct {
		Searches int     `json:"web_search_requests"`
		Fetches  skipped `json:"web_fetch_requests"` // costs nothing beside its tokens
	} `json:"server_tool_use"`
	Speed  string `json:"speed"`
	Tier   string `json:"service_tier"`
	Region string `json:"inference_geo"`

	// Iterations are the steps of an answer. The other members are without the steps of type "compaction".
	Iterations []struct {
		Type string `json:"type"`
		messagesUsage
	} `json:"iterations"`
}

// skipped is a number in usage that changes no price.
type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }

func (u messagesUsage) usage() *llm.Usage {
	all := llm.Usage{
		Input: u.Input, CacheRead: u.CacheRead, CacheWrite: max(u.CacheWrite, u.Creation.Short+u.Creation.Hour),
		CacheWrite1h: u.Creation.Hour, Output: u.Output, Reasoning: u.Details.Thinking,
		WebSearches: u.Server.Searches,
		Speed:       llm.Unusual(u.Speed), Region: llm.Unusual(u.Region), Tier: llm.Unusual(u.Tier),
	}
	if all.Tier == llm.TierPriority { // capacity that was bought before, and counts by the usual prices
		all.Tier = ""
	}
	for _, it := range u.Iterations {
		if it.Type == "compaction" {
			if step := it.messagesUsage.usage(); step != nil {
				step.Speed, step.Region, step.Tier = all.Speed, all.Region, all.Tier
				all = all.Add(*step)
			}
		}
	}
	return orNil(all)
}

// wholeNumber is a whole number that is written as 10.0 or "10".
var wholeNumber = regexp.MustCompile(`(:\s*)(?:"(\d+)(?:\.0+)?"|(\d+)\.0+)(\s*[,}])`)

// usage decodes the usage that a file reports. It counts the numbers for which the type of v has no member. It reports
// whether there is usage.
func (src *source) usage(raw json.RawMessage, v any) bool {
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
func (src *source) unknown(raw json.RawMessage, t reflect.Type, path string) (none bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return false
	}
	none = true
	for name, value := range members {
		at := path + name
		if f, ok := member(t, name); ok {
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
func (src *source) count(at string) {
	if src.unknownUsage == nil {
		src.unknownUsage = map[string]int{}
	}
	src.unknownUsage[src.format+": "+at]++
}

// member returns the type of the member of a struct that has this name in JSON.
func member(t reflect.Type, name string) (reflect.Type, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name {
			return f.Type, true
		}
	}
	return nil, false
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

// Package apis is the table of the wire formats that stet knows: a row for each, which the package of its codec has.
package apis

import (
	"slices"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/gemini"
	"github.com/stet-dev/stet/llm/openai"
)

// All returns the APIs, in the order in which people read of them.
func All() []llm.API {
	return []llm.API{anthropic.API, openai.ChatAPI, openai.ResponsesAPI, gemini.API}
}

// Named returns the API of this name; false if there is none.
func Named(name string) (llm.API, bool) {
	all := All()
	i := slices.IndexFunc(all, func(a llm.API) bool { return a.Name == name })
	if i < 0 {
		return llm.API{}, false
	}
	return all[i], true
}

package transcript

import "github.com/stet-dev/stet/llm"

// messagesUsage is the usage object of the Messages API.
type messagesUsage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	Creation   struct {
		Hour int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

func (u messagesUsage) usage() *llm.Usage {
	return orNil(llm.Usage{
		Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		CacheWrite1h: u.Creation.Hour, Output: u.Output,
	})
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

package gemini

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

var usageKeys = [7]string{
	"promptTokenCount", "toolUsePromptTokenCount", "cachedContentTokenCount", "candidatesTokenCount", "thoughtsTokenCount",
	"serviceTier", "trafficType",
}

// known are the names of usage for llm.UnknownUsage: what is read, and sums and parts of that.
var known = append(usageKeys[:], "totalTokenCount", "promptTokensDetails", "cacheTokensDetails", "candidatesTokensDetails", "toolUsePromptTokensDetails")

// UnknownUsage returns what UsageOf does not know in a usage object: see llm.UnknownUsage.
func UnknownUsage(raw []byte) []string { return llm.UnknownUsage(raw, known) }

// UsageOf implements llm.Codec. promptTokenCount includes tokens that were read from the cache, but not tokens that tools of the
// provider added. candidatesTokenCount does not include thoughts.
func (GenerateContent) UsageOf(raw []byte) (llm.Usage, error) {
	var at [7]rawjson.Span
	s := rawjson.New(raw)
	s.Object(usageKeys[:], at[:])
	if err := s.End(); err != nil {
		return llm.Usage{}, fmt.Errorf("usage: %w", err)
	}
	var u llm.Usage
	var prompt, added, said int
	for i, to := range [5]*int{&prompt, &added, &u.CacheRead, &said, &u.Reasoning} {
		if err := rawjson.Most(raw, at[i], to); err != nil {
			return llm.Usage{}, fmt.Errorf("usage %s: %w", usageKeys[i], err)
		}
	}
	u.CacheRead = min(u.CacheRead, prompt+added)
	u.Input = prompt + added - u.CacheRead
	u.Output = said + u.Reasoning
	for _, word := range at[5:7] { // capacity that was bought before counts by the usual prices
		word := strings.TrimPrefix(llm.Unusual(rawjson.Word(raw, word)), "on_demand_")
		if word != "provisioned_throughput" {
			u.Tier = cmp.Or(u.Tier, word)
		}
	}
	return u, nil
}

var answerKeys = [5]string{"candidates", "usageMetadata", "modelVersion", "responseId", "promptFeedback"}

// DecodeResponse implements llm.Codec. It reads the first candidate. StopReason is the reason why it ended, or why the prompt was
// blocked.
func (c GenerateContent) DecodeResponse(body []byte) (*llm.Response, error) {
	d := newDecoder(body)
	res, err := d.answer()
	if err != nil {
		return nil, fmt.Errorf("gemini response: %w", err)
	}
	return res, nil
}

func (d *decoder) answer() (*llm.Response, error) {
	var f [5]rawjson.Span
	s := rawjson.New(d.Body)
	s.Object(answerKeys[:], f[:])
	if err := s.End(); err != nil {
		return nil, err
	}
	var candidate [2]rawjson.Span // content and finishReason of the first one
	for first := range rawjson.Elements(d.Body, f[0]) {
		if !rawjson.Members(d.Body, first, []string{"content", "finishReason"}, candidate[:]) {
			d.FailAt(first, "a candidate that cannot be read")
		}
		break
	}
	res := &llm.Response{ID: d.Own(f[3]), Model: d.Own(f[2]), StopReason: d.Own(candidate[1])}
	if why := rawjson.Member(d.Body, f[4], "blockReason"); !why.IsZero() {
		res.StopReason = d.Own(why)
	}
	if candidate == [2]rawjson.Span{} && res.StopReason == "" {
		return nil, errors.New("no candidates")
	}
	d.parts(rawjson.Member(d.Body, candidate[0], "parts"), llm.Assistant)
	res.Message = llm.Message{Role: llm.Assistant, Parts: d.Parts}
	if !f[1].IsZero() {
		var err error
		res.Usage, err = GenerateContent{}.UsageOf(f[1].Of(d.Body))
		d.Fail(err)
	}
	return res, d.Err()
}

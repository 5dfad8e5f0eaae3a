package live

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stet-dev/stet/trim/transcript"
)

// upstream is a provider with a prompt cache, and its bill. The whole blocks that a request has in common with an earlier one to
// the same model cost a tenth, as long as they live since their last use. Everything else is written, and lives as long as the
// request's markers ask for. Every request counts as marked at its end. Tools and system text are always cached.
type upstream struct {
	thinks time.Duration // before it answers
	fixed  int           // tokens of tools and system text, which are not in the recording
	seed   maphash.Seed
	used   map[uint64]cached // beginnings of requests, by model
	cost   float64           // in input tokens without a cache
	text   int               // bytes of text in all requests
}

// cached is an entry of the cache.
type cached struct {
	last  time.Time // the time of its last use
	lives time.Duration
}

// The cost of a token that is read, and of a token that is written to live five minutes or an hour.
const read, write, writeHour = 0.1, 1.25, 2

func newUpstream(s *transcript.Session) *upstream {
	u := &upstream{seed: maphash.MakeSeed(), used: make(map[uint64]cached)}
	if !s.HasSystem {
		u.fixed = 15_000 // as in the replay
	}
	return u
}

// RoundTrip implements http.RoundTripper.
func (u *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if err := r.Body.Close(); err != nil {
		return nil, err
	}
	answer, err := u.bill(data)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer)),
	}, nil
}

// bill adds the cost of a request, waits as long as the model thinks, and answers.
func (u *upstream) bill(data []byte) (string, error) {
	var req struct {
		Model    string
		Messages []struct {
			Role    string
			Content []struct {
				Type, Text, ID, Name string
				ToolUseID            string `json:"tool_use_id"`
				Content              string
				Input                json.RawMessage
				CacheControl         struct{ TTL string } `json:"cache_control"`
			}
		}
	}
	if err := json.Unmarshal(data, &req); err != nil {
		return "", err
	}
	now, lives, price := time.Now(), 5*time.Minute, write
	chain := []uint64{maphash.String(u.seed, req.Model)}
	alive := func() bool {
		entry, ok := u.used[chain[len(chain)-1]]
		return ok && now.Sub(entry.last) <= entry.lives
	}
	all, hit, warm := u.fixed, u.fixed, true
	for _, m := range req.Messages {
		for _, b := range m.Content {
			text := strings.Join([]string{b.Type, m.Role, b.ID, b.ToolUseID, b.Name, string(b.Input), b.Text, b.Content}, "\x00")
			chain = append(chain, maphash.Comparable(u.seed, [2]uint64{chain[len(chain)-1], maphash.String(u.seed, text)}))
			u.text += len(b.Input) + len(b.Text) + len(b.Content)
			all += visible(b.Name) + visible(string(b.Input)) + visible(b.Text) + visible(b.Content)
			if warm = warm && alive(); warm {
				hit = all
			}
			if b.CacheControl.TTL == "1h" {
				lives, price = time.Hour, writeHour
			}
		}
	}
	time.Sleep(u.thinks)
	for _, prefix := range chain {
		entry := u.used[prefix]
		if now.Sub(entry.last) > entry.lives {
			entry.lives = lives
		}
		u.used[prefix] = cached{time.Now(), entry.lives}
	}
	u.cost += read*float64(hit) + price*float64(all-hit)
	written := map[time.Duration]int{lives: all - hit}
	return fmt.Sprintf(`{"type":"message","role":"assistant","model":%q,"content":[{"type":"text","text":"yes"}],"stop_reason":"end_turn",`+
		`"usage":{"input_tokens":3,"output_tokens":9,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,`+
		`"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":%d}}}`,
		req.Model, hit, all-hit, written[5*time.Minute], written[time.Hour]), nil
}

// visible counts tokens: 3.6 characters a token.
func visible(text string) int { return (utf8.RuneCountInString(text)*10 + 18) / 36 }

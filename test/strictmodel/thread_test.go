package strictmodel_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/strictmodel"
)

// threadRig is a client of a server with a fixed clock.
type threadRig struct {
	t      *testing.T
	server *llmtest.Server
	rules  *strictmodel.Rules
	now    time.Time
	during func() // called once while the model answers
}

func newThreadRig(t *testing.T) *threadRig {
	r := &threadRig{t: t, now: time.Unix(1_790_000_000, 0)}
	r.rules = &strictmodel.Rules{Now: func() time.Time { return r.now }}
	var err error
	r.server, err = llmtest.Start(llmtest.Config{Rules: r.rules, Handler: func(req *llm.Request) (llm.Response, error) {
		if f := r.during; f != nil {
			r.during = nil
			f()
		}
		var texts []string
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if p.Kind == llm.Text && m.Role != llm.Assistant {
					texts = append(texts, p.Text)
				}
			}
		}
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{
			{Kind: llm.Thinking, Text: "hm"}, {Text: strings.Join(texts, ",") + fmt.Sprint(" tools:", len(req.Tools))},
		}}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return r
}

// threadAnswer is an answer of the server.
type threadAnswer struct {
	status      int
	id, text    string
	content     string // raw
	code        string
	message     string
	unsupported []string
}

// post sends a body with the given members and the given betas.
func (r *threadRig) post(members string, betas ...string) threadAnswer {
	r.t.Helper()
	if betas == nil {
		betas = []string{strictmodel.ThreadsBeta}
	}
	req, _ := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.server.URL+"/v1/messages", strings.NewReader(`{"max_tokens":9,`+members+`}`))
	req.Header.Set("Anthropic-Beta", strings.Join(betas, ","))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	var out struct {
		ID      string
		Content json.RawMessage
		Error   struct {
			Message string
			Details struct {
				Code        string `json:"error_code"`
				Unsupported []string
			}
		}
	}
	if err := json.Unmarshal(text, &out); err != nil {
		r.t.Fatalf("%s: %v", text, err)
	}
	a := threadAnswer{status: resp.StatusCode, id: out.ID, content: string(out.Content), code: out.Error.Details.Code, message: out.Error.Message, unsupported: out.Error.Details.Unsupported}
	var blocks []struct{ Text string }
	_ = json.Unmarshal(out.Content, &blocks)
	if len(blocks) > 1 {
		a.text = blocks[1].Text
	}
	return a
}

func said(text string) string { return `"messages":[{"role":"user","content":"` + text + `"}]` }

const threadHead = `"model":"m","thinking":{"type":"adaptive"},"tool_choice":{"type":"auto"},"output_config":{"effort":"low"},"cache_control":{"type":"ephemeral"},`
const threadCreate = `"system":"Help.","tools":[{"name":"a","input_schema":{}}],"thread":{"type":"create"},`

func threadContinue(id string) string {
	return `"thread":{"type":"continue","previous_message_id":"` + id + `"},`
}

// create begins a thread, and returns the id of its answer.
func (r *threadRig) create() string {
	r.t.Helper()
	a := r.post(threadHead + threadCreate + said("one"))
	if a.status != 200 || a.text != "Help.,one tools:1" {
		r.t.Fatalf("%+v", a)
	}
	return a.id
}

// The rules of message threads (WIRE-8), from the page "Message threads",
// platform.claude.com/docs/en/build-with-claude/message-threads. The names of the errors are also in the provider's SDK for
// TypeScript, from version 1.4.0 (ThreadNotFoundError and others).
func TestThreadRules(t *testing.T) {
	for _, c := range []struct {
		rule string
		test func(r *threadRig, first string) threadAnswer
		want threadAnswer // the last answer: status, code, text, unsupported
	}{
		{"a request that continues has the new messages alone; system and tools are the thread's", func(r *threadRig, first string) threadAnswer {
			second := r.post(threadHead + threadContinue(first) + said("two"))
			return r.post(threadHead + threadContinue(second.id) + said("three"))
		}, threadAnswer{status: 200, text: "Help.,one,two,three tools:1"}},
		{"a thread goes on without new messages (after pause_turn)", func(r *threadRig, first string) threadAnswer {
			return r.post(threadHead + threadContinue(first) + `"messages":[]`)
		}, threadAnswer{status: 200, text: "Help.,one tools:1"}},
		{"system and tools are left out of it", func(r *threadRig, first string) threadAnswer {
			return r.post(threadHead + `"system":"Help.",` + threadContinue(first) + said("two"))
		}, threadAnswer{status: 400}},
		{"but for the accounting header, which is new in each request", func(r *threadRig, first string) threadAnswer {
			return r.post(threadHead + `"system":[{"type":"text","text":"x-anthropic-billing-header: 1"}],` + threadContinue(first) + said("two"))
		}, threadAnswer{status: 200, text: "Help.,one,two tools:1"}},
		{"it dies five minutes after its last request", func(r *threadRig, first string) threadAnswer {
			r.now = r.now.Add(5*time.Minute + time.Second)
			return r.post(threadHead + threadContinue(first) + said("two"))
		}, threadAnswer{status: 404, code: "thread_not_found"}},
		{"each answer restarts the five minutes", func(r *threadRig, first string) threadAnswer {
			for i := range 5 {
				r.now = r.now.Add(4 * time.Minute)
				first = r.post(threadHead + threadContinue(first) + said(fmt.Sprint(i))).id
			}
			return r.post(threadHead + threadContinue(first) + said("two"))
		}, threadAnswer{status: 200, text: "Help.,one,0,1,2,3,4,two tools:1"}},
		{"it may be gone at any time; then all is sent again with create", func(r *threadRig, first string) threadAnswer {
			r.rules.ForgetThreads()
			if gone := r.post(threadHead + threadContinue(first) + said("two")); gone.code != "thread_not_found" || gone.status != 404 {
				r.t.Errorf("%+v", gone)
			}
			return r.post(threadHead + threadContinue(r.create()) + said("two"))
		}, threadAnswer{status: 200, text: "Help.,one,two tools:1"}},
		{"an answer can be continued once", func(r *threadRig, first string) threadAnswer {
			r.post(threadHead + threadContinue(first) + said("two"))
			return r.post(threadHead + threadContinue(first) + said("three"))
		}, threadAnswer{status: 400, code: "thread_already_continued"}},
		{"and by one request at a time", func(r *threadRig, first string) (a threadAnswer) {
			r.during = func() { a = r.post(threadHead + threadContinue(first) + said("three")) }
			r.post(threadHead + threadContinue(first) + said("two"))
			return a
		}, threadAnswer{status: 400, code: "thread_continue_in_flight"}},
		{"one that was refused can be continued", func(r *threadRig, first string) threadAnswer {
			r.server.Fail(llmtest.Fault{Status: 529})
			r.post(threadHead + threadContinue(first) + said("lost"))
			return r.post(threadHead + threadContinue(first) + said("two"))
		}, threadAnswer{status: 200, text: "Help.,one,two tools:1"}},
		{"model is fixed", differing(`"model":"m"`, `"model":"n"`), threadAnswer{status: 400, code: "thread_fingerprint_mismatch"}},
		{"thinking is fixed", differing(`"adaptive"`, `"enabled"`), threadAnswer{status: 400, code: "thread_fingerprint_mismatch"}},
		{"tool_choice is fixed", differing(`"auto"`, `"any"`), threadAnswer{status: 400, code: "thread_fingerprint_mismatch"}},
		{"output_config is fixed", differing(`"low"`, `"high"`), threadAnswer{status: 400, code: "thread_fingerprint_mismatch"}},
		{"cache_control at the top is fixed", differing(`"ephemeral"`, `"ephemeral","ttl":"1h"`), threadAnswer{status: 400, code: "thread_fingerprint_mismatch"}},
		{"the order of keys does not count", differing(`"thinking":{"type":"adaptive"},"tool_choice":{"type":"auto"}`, `"tool_choice": {"type":"auto"},"thinking":{"type" : "adaptive"}`),
			threadAnswer{status: 200, text: "Help.,one,two tools:1"}},
		{"the set of betas is fixed", func(r *threadRig, first string) threadAnswer {
			return r.post(threadHead+threadContinue(first)+said("two"), strictmodel.ThreadsBeta, "other-1")
		}, threadAnswer{status: 400, code: "thread_fingerprint_mismatch"}},
		{"a thread needs the beta header", func(r *threadRig, first string) threadAnswer {
			return r.post(threadHead+threadCreate+said("one"), "other-1")
		}, threadAnswer{status: 400}},
		{"there is no context editing in it", func(r *threadRig, first string) threadAnswer {
			return r.post(threadHead + threadCreate + `"context_management":{"edits":[]},` + said("one"))
		}, threadAnswer{status: 400, code: "thread_unsupported_request", unsupported: []string{"context_management"}}},
		{"and no fallback", func(r *threadRig, first string) threadAnswer {
			return r.post(threadHead + threadCreate + `"fallbacks":"default",` + said("one"))
		}, threadAnswer{status: 400, code: "thread_unsupported_request", unsupported: []string{"fallbacks"}}},
		{"four cache markers at most, that at the top included", func(r *threadRig, first string) threadAnswer {
			return r.post(threadHead + threadContinue(first) + marked(4))
		}, threadAnswer{status: 400, code: "thread_unsupported_request", unsupported: []string{"cache_control"}}},
		{"four are taken, and those of earlier requests do not count", func(r *threadRig, first string) threadAnswer {
			second := r.post(threadHead + threadContinue(first) + marked(3))
			return r.post(threadHead + threadContinue(second.id) + marked(3))
		}, threadAnswer{status: 200, text: "Help.,one,b,b,b,b,b,b tools:1"}},
		{"an answer that broke off cannot be continued", func(r *threadRig, first string) threadAnswer {
			r.server.Fail(llmtest.Fault{ErrorAfter: 3})
			r.post(threadHead + threadContinue(first) + `"stream":false,` + said("two"))
			return r.post(threadHead + threadContinue("msg_t0002") + said("three"))
		}, threadAnswer{status: 404, code: "thread_not_found"}},
		{"another type is invalid", func(r *threadRig, first string) threadAnswer {
			return r.post(threadHead + `"thread":{"type":"other"},` + said("one"))
		}, threadAnswer{status: 400}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			r := newThreadRig(t)
			got := c.test(r, r.create())
			if got.status != c.want.status || got.code != c.want.code || got.text != c.want.text || fmt.Sprint(got.unsupported) != fmt.Sprint(c.want.unsupported) {
				t.Errorf("got %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// differing returns a test that continues the thread with one changed member.
func differing(old, changed string) func(r *threadRig, first string) threadAnswer {
	return func(r *threadRig, first string) threadAnswer {
		head := strings.Replace(threadHead, old, changed, 1)
		if head == threadHead {
			r.t.Fatal("nothing changed")
		}
		return r.post(head + threadContinue(first) + said("two"))
	}
}

// marked returns a message with n cache markers.
func marked(n int) string {
	block := `{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}`
	return `"messages":[{"role":"user","content":[` + strings.TrimSuffix(strings.Repeat(block+",", n), ",") + `]}]`
}

// Thinking is bound to the conversation that the server holds ("Preserved thinking"). It is accepted if the whole conversation is
// sent again unchanged. It is refused if a message differs.
func TestThreadBinds(t *testing.T) {
	r := newThreadRig(t)
	first := r.post(threadHead + threadCreate + said("one"))
	second := r.post(threadHead + threadContinue(first.id) + said("two"))
	replay := func(one, two string) threadAnswer {
		return r.post(threadHead + threadCreate + fmt.Sprintf(
			`"messages":[{"role":"user","content":%q},{"role":"assistant","content":%s},{"role":"user","content":%q},{"role":"assistant","content":%s},{"role":"user","content":"three"}]`,
			one, first.content, two, second.content))
	}
	if a := replay("one", "two"); a.status != 200 || a.text != "Help.,one,two,three tools:1" {
		t.Errorf("%+v", a)
	}
	for _, c := range [][2]string{{"1", "two"}, {"one", "2"}} {
		if a := replay(c[0], c[1]); a.status != 400 || !strings.Contains(a.message, "bound to a different conversation") {
			t.Errorf("%v: %+v", c, a)
		}
	}
}

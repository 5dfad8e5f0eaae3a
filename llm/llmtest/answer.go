package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/gemini"
)

// created is the time in every answer. It is constant, so that two runs of a script give the same bytes.
const created = 1_790_000_000

// serveAnswer answers a request in one of the formats.
func (s *Server) serveAnswer(w http.ResponseWriter, r *http.Request, wire *wire, body []byte, update func(func(*Request))) {
	fault, err := s.nextFault(r.Header)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, wire.failure(400, "read "+FaultHeader+": "+err.Error()))
		return
	}
	ruled, refusal := s.enter(wire, r, body)
	if refusal != nil {
		refusal.write(w)
		return
	}
	defer ruled.Leave()
	body = ruled.Body()
	var at *chain
	if wire == responsesWire {
		var why *responseError
		if body, at, why = s.responses.enter(body, nil); why != nil {
			writeJSON(w, why.status, []byte(encode(object{"error": why.object()})))
			return
		}
	}
	req, err := wire.Codec.Decode(body)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, wire.failure(400, err.Error()))
		return
	}
	model, method, pathed := gemini.Address(r.URL.Path)
	if pathed {
		req.Model, req.Stream = model, method == gemini.StreamGenerate
	}
	update(func(r *Request) { r.Decoded = req })
	wait(r.Context(), fault.Delay)
	if fault.Reset {
		reset(w)
		return
	}
	if fault.Status != 0 {
		fail(w, wire, fault)
		return
	}
	shown, given, refusal := ruled.Check(req)
	switch {
	case refusal != nil:
		refusal.write(w)
		return
	case pathed && method == gemini.CountTokens:
		writeJSON(w, http.StatusOK, []byte(encode(object{"totalTokens": PromptTokens(req)})))
		return
	}
	a, err := s.answer(wire, shown, body, given, update)
	if err != nil {
		fail(w, wire, asFault(err))
		return
	}
	a.ruled, a.array = ruled, pathed && r.URL.Query().Get("alt") != "sse"
	ruled.Keep(&a.Response, fault.CutAfter <= 0 && fault.ErrorAfter <= 0 && fault.Bad == "")
	s.responses.keep(at, &a, nil)
	if req.Stream {
		stream(w, r, wire, a, fault)
		return
	}
	whole := wire.whole(a)
	if fault.CutAfter > 0 {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(whole)))
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(whole[:len(whole)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	writeJSON(w, http.StatusOK, whole)
}

// answer returns the given answer, or gets one from the script or the handler. It fills in the fields that are left empty.
func (s *Server) answer(wire *wire, req *llm.Request, body []byte, given *llm.Response, update func(func(*Request))) (answer, error) {
	a := answer{body: body, created: created, thinks: s.cfg.Reasoning}
	step, side := 0, false
	if given != nil {
		a.Response, step, side = *given, Step(req), true
	} else if s.cfg.Handler == nil {
		a.Response, step, side = s.cfg.Script.answer(req, wire.idPrefix, body)
		a.ID = fmt.Sprintf("s%02d", step)
	} else {
		resp, err := s.cfg.Handler(req)
		if err != nil {
			return a, err
		}
		a.Response, step = resp, Step(req)
		a.Message.Parts = append([]llm.Part(nil), resp.Message.Parts...)
		for i := range a.Message.Parts {
			if p := &a.Message.Parts[i]; p.Kind == llm.ToolCall && p.CallID == "" {
				p.CallID = callID(wire.idPrefix, step, i)
			}
		}
	}
	update(func(r *Request) { r.Step, r.Side = step, side })
	if a.ID == "" || side {
		h := fnv.New64a()
		_, _ = h.Write(body)
		a.ID = fmt.Sprintf("%016x", h.Sum64())
	}
	a.Model = cmp.Or(a.Model, req.Model)
	if a.Usage.IsZero() {
		a.Usage = s.cache.usage(req, a.Message)
	}
	return a, nil
}

func fail(w http.ResponseWriter, wire *wire, f Fault) {
	if f.RetryAfter != 0 {
		w.Header().Set("Retry-After", strconv.Itoa(max(f.RetryAfter, 0)))
	}
	if f.Location != "" {
		w.Header().Set("Location", f.Location)
	}
	body := []byte(f.Body)
	if f.Body == "" {
		body = wire.failure(f.Status, f.message())
	}
	writeJSON(w, f.Status, body)
}

func (s *Server) countTokens(w http.ResponseWriter, r *http.Request, body []byte, update func(func(*Request))) {
	wire := messagesWire
	req, err := wire.Codec.Decode(body)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, wire.failure(400, err.Error()))
		return
	}
	update(func(r *Request) { r.Decoded = req })
	ruled, why := s.enter(wire, r, body)
	if why == nil {
		defer ruled.Leave()
		req, _, why = ruled.Check(req)
	}
	if why != nil {
		why.write(w)
		return
	}
	writeJSON(w, http.StatusOK, []byte(encode(object{"input_tokens": PromptTokens(req)})))
}

func (s *Server) modelNames() []string {
	if len(s.cfg.Models) == 0 {
		return []string{"scripted"}
	}
	return s.cfg.Models
}

// models lists the models in the format of the provider.
func (s *Server) models(anthropic bool) []byte {
	names := s.modelNames()
	data := []any{}
	for _, name := range names {
		if anthropic {
			data = append(data, object{"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"})
		} else {
			data = append(data, object{"id": name, "object": "model", "created": created, "owned_by": "scripted"})
		}
	}
	out := object{"object": "list", "data": data}
	if anthropic {
		out = object{"data": data, "has_more": false, "first_id": names[0], "last_id": names[len(names)-1]}
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic(err) // the values are all made here
	}
	return b
}

// geminiModels lists the models in the format of the Gemini API.
func (s *Server) geminiModels() []byte {
	models := []any{}
	for _, name := range s.modelNames() {
		models = append(models, object{
			"name": "models/" + name, "displayName": name, "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536,
			"supportedGenerationMethods": []string{"generateContent", "countTokens"},
		})
	}
	return []byte(encode(object{"models": models}))
}

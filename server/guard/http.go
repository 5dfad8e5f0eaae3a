package guard

import (
	"crypto/subtle"
	"io"
	"net/http"
	"strings"
)

// Form is how the hooks of an agent speak.
type Form struct {
	// Read reads what a hook was given: the name of the event, and its JSON. entry is the header Stet-Entry: how the agent was started.
	Read func(event, entry string, body []byte) (Event, error)

	// Write returns what the hook prints. nil: nothing.
	Write func(Event, Answer) []byte
}

// maxEvent is the limit of what a hook sends, in bytes: a call may write a large file.
const maxEvent = 32 << 20

// Handler serves the hooks of agents, with the token: POST /guard/AGENT/EVENT; and POST /guard/seen, which answers a SeenQuery. "?closed" sets Event.Closed. An answer of 200 has the agent's own form, and may be empty.
func (g *Guard) Handler(token string, forms map[string]Form) http.Handler {
	mux := http.NewServeMux()
	known := func(w http.ResponseWriter, r *http.Request) bool {
		given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		ok := subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 1
		if !ok {
			http.Error(w, `wrong token: run "stet guard AGENT" again`, http.StatusUnauthorized)
		}
		return ok
	}
	mux.HandleFunc("POST /guard/seen", func(w http.ResponseWriter, r *http.Request) {
		if known(w, r) {
			g.serveSeen(w, r)
		}
	})
	mux.HandleFunc("POST /guard/{agent}/{event}", func(w http.ResponseWriter, r *http.Request) {
		if !known(w, r) {
			return
		}
		form, ok := forms[r.PathValue("agent")]
		if !ok {
			http.Error(w, "no such agent", http.StatusNotFound)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		e, err := form.Read(r.PathValue("event"), r.Header.Get("Stet-Entry"), body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		e.Agent, e.Closed = r.PathValue("agent"), r.URL.Query().Has("closed")
		answer, err := g.Handle(r.Context(), e)
		if err != nil {
			g.Log.Error("guard", "event", r.PathValue("event"), "err", err)
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(form.Write(e, answer))
	})
	return mux
}

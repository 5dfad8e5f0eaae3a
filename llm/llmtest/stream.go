package llmtest

import (
	"net"
	"net/http"
)

// stream sends the answer event by event, until the fault stops it.
func stream(w http.ResponseWriter, r *http.Request, wire *wire, a answer, f Fault) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if a.array {
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	}
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	var held []byte // bytes that do not fill a chunk yet
	for i, e := range wire.events(a) {
		if f.CutAfter > 0 && i == f.CutAfter {
			send(w, held)
			panic(http.ErrAbortHandler)
		}
		last := f.ErrorAfter > 0 && i == f.ErrorAfter
		if last {
			e = event{data: string(wire.failure(503, "Overloaded"))}
			if wire.broken != nil {
				e = wire.broken("Overloaded")
			}
		}
		held = e.append(held)
		if f.Bad != "" && i == f.BadAfter {
			held = append(held[:len(held)-len(e.append(nil))], f.Bad...)
		}
		n := len(held)
		if f.Chunk > 0 {
			n = f.Chunk
		}
		for len(held) >= n && n > 0 {
			if !send(w, held[:n]) {
				return
			}
			held = held[n:]
		}
		if last {
			break
		}
		if i+1 >= f.PauseAfter {
			wait(r.Context(), f.Pause)
		}
		if r.Context().Err() != nil {
			return
		}
	}
	send(w, held)
}

func send(w http.ResponseWriter, b []byte) bool {
	if _, err := w.Write(b); err != nil {
		return false
	}
	return http.NewResponseController(w).Flush() == nil
}

// reset ends the connection without an answer.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

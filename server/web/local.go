package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/stet-dev/stet/files/approval"
)

// ServeLocal serves the API to programs of the same user, over a unix socket, until ctx ends. They need no login: they answer as
// approval.LocalPerson, and may not see what is for admins. The socket must be in a directory of mode 0700, which other users cannot reach. If the
// system tells the user at the other end, that is also checked. The end of ctx is not an error.
//
// An agent that runs as the same user and may run programs can reach the socket, too. The queue does not protect against such an
// agent: it could also write the file itself.
func (h *Handler) ServeLocal(ctx context.Context, ln net.Listener) error {
	server := &http.Server{
		Handler:           http.HandlerFunc(h.local),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			uid, known, err := peerUser(c)
			if err == nil && known && uid != os.Getuid() {
				err = fmt.Errorf("user %d may not answer for user %d", uid, os.Getuid())
			}
			return context.WithValue(ctx, strangerKey{}, err)
		},
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		shutting, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(shutting) // what is left is closed
		_ = server.Close()
	})
	err := server.Serve(ln)
	if !stop() {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve questions: %w", err)
}

// strangerKey is the key of the error for a connection of another user.
type strangerKey struct{}

// local serves a request over a socket of this machine.
func (h *Handler) local(w http.ResponseWriter, r *http.Request) {
	if err, _ := r.Context().Value(strangerKey{}).(error); err != nil {
		h.log().Warn("refused", "why", err)
		h.fail(w, r, problem{http.StatusForbidden, err.Error()})
		return
	}
	name := approval.LocalPerson()
	by := caller{person: Person{ID: name, Name: name}, local: true}
	h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, by)))
}

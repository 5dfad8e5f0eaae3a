package proxy

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
)

// The key and the upstream distinguish accounts.
func TestAccountOf(t *testing.T) {
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close(context.Background()) }()
	seen := map[uint64]string{}
	for _, to := range []endpoint{p.endpoints.messages, p.endpoints.chat} {
		for _, h := range []http.Header{{}, {"X-Api-Key": {"a"}}, {"X-Api-Key": {"b"}}, {"Authorization": {"a"}}, {"Authorization": {"a"}, "X-Api-Key": {"a"}}} {
			account := accountOf(to, h)
			if seen[account] != "" || account != accountOf(to, h) {
				t.Errorf("%s %v is taken for %s", to.upstream.Host, h, seen[account])
			}
			seen[account] = fmt.Sprint(to.upstream.Host, h)
		}
	}
}

// Forgotten accounts are looked up in the store again.
func TestAccountsAreBounded(t *testing.T) {
	a := accounts{store: new(recordtest.Memory)}
	if err := a.store.Append(t.Context(), record.Batch{Refusals: []record.Refusal{{Account: 7, Time: time.Now()}}}); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(3 * maxAccounts) {
		if got := a.mayRefuse(t.Context(), i); got != (i == 7) || len(a.refuses) > maxAccounts {
			t.Fatalf("account %d: %t, %d are held", i, got, len(a.refuses))
		}
	}
	if !a.mayRefuse(t.Context(), 7) {
		t.Error("what was refused is forgotten")
	}
}

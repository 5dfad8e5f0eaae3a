package gateway

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// A token is stored only as a hash, and ends when it expires or is revoked.
func TestTokens(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	table := &Tokens{}
	k, secret, err := table.Create(NewToken{Name: "laptop", Scopes: []string{Hosts}, Workspace: "w", Expires: now.Add(time.Hour)}, now)
	if err != nil || !strings.HasPrefix(secret, "stet_") || len(secret) < 30 {
		t.Fatal(k, secret, err)
	}
	b, err := table.Encode()
	if err != nil || strings.Contains(string(b), secret) || strings.Contains(string(b), secret[5:]) {
		t.Fatalf("%s %v", b, err)
	}
	if table, err = ParseTokens(b); err != nil {
		t.Fatal(err)
	}
	who, err := table.Identify(secret, now)
	if err != nil || who.ID != k.ID || who.Name != "laptop" || !who.May(Hosts) || who.May(Agents) || who.reaches("v") || !who.reaches("w") {
		t.Errorf("%+v %v", who, err)
	}
	if !table.Holds(k.ID, now) {
		t.Error("it does not hold")
	}
	later := now.Add(time.Hour)
	if _, err := table.Identify(secret, later); !errors.Is(err, errExpired) || table.Holds(k.ID, later) {
		t.Error(err)
	}
	if _, err := table.Identify(secret+"x", now); !errors.Is(err, ErrToken) {
		t.Error(err)
	}
	if _, err := table.Identify(k.Hash, now); !errors.Is(err, ErrToken) { // the stored hash is not accepted as a token
		t.Error(err)
	}

	fresh, another, err := table.Create(NewToken{Name: "laptop", Scopes: k.Scopes, Workspace: "w", Expires: now.Add(time.Hour)}, now)
	if err != nil || another == secret || !fresh.Expires.Equal(now.Add(time.Hour)) || fresh.Workspace != "w" || !slices.Equal(fresh.Scopes, k.Scopes) {
		t.Errorf("%+v %v", fresh, err)
	}
	if _, err := table.Revoke("laptop", now); err == nil || !strings.Contains(err.Error(), "several") {
		t.Error(err)
	}
	if _, err := table.Revoke(fresh.ID, now); err != nil {
		t.Error(err)
	}
	if _, err := table.Identify(another, now); !errors.Is(err, errRevoked) {
		t.Error(err)
	}
	if _, err := table.Revoke("nobody", now); err == nil {
		t.Error("a token with an unknown name was revoked")
	}
	table.Sweep(24*time.Hour, now.Add(23*time.Hour))
	if len(table.Tokens) != 2 {
		t.Errorf("%+v", table.Tokens)
	}
	table.Sweep(24*time.Hour, now.Add(48*time.Hour))
	if len(table.Tokens) != 0 {
		t.Errorf("%+v", table.Tokens)
	}
	for _, bad := range []NewToken{
		{Scopes: []string{Agents}}, {Name: "a\nb", Scopes: []string{Agents}}, {Name: "a"}, {Name: "a", Scopes: []string{"root"}},
		{Name: "a", Scopes: []string{Agents}, Workspace: "../x"}, {Name: "a", Scopes: []string{Agents}, Expires: now},
		{Name: "a", Scopes: []string{Agents}, Secret: "short"}, {Name: "a", Scopes: []string{Agents, Admins}, Workspace: "w"},
	} {
		if _, _, err := table.Create(bad, now); err == nil {
			t.Errorf("%+v is a token", bad)
		}
	}
	// An unknown scope that was written into the table by hand gives no rights.
	for scope, may := range map[string][]string{
		Agents: {Agents}, Hosts: {Hosts}, Approvers: {Approvers}, Admins: {Approvers, Admins}, "root": nil,
	} {
		for _, role := range []string{Agents, Hosts, Approvers, Admins, "root", ""} {
			who := Identity{Scopes: []string{scope}}
			if got, want := who.May(role), slices.Contains(may, role); got != want || (who.Refusal(role, "w") == "") != want {
				t.Errorf("a token for %q in the role %q: %v, %q", scope, role, got, who.Refusal(role, "w"))
			}
		}
	}
	if who := (Identity{Scopes: []string{Agents, Admins}, Workspace: "w"}); who.May(Approvers) || !who.May(Agents) {
		t.Error("a person of one workspace decides about all")
	}
	for _, bad := range []string{`{"version":2}`, `[]`, `{`} {
		if _, err := ParseTokens([]byte(bad)); err == nil {
			t.Errorf("%s is a table", bad)
		}
	}
}

package site

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/server/gateway"
	"github.com/stet-dev/stet/server/web"
)

// identify returns the person who has come back from the issuer. begun says whether this browser began the login t.
func (s *signIn) identify(r *http.Request, t transit, begun bool) (web.Person, error) {
	query := r.URL.Query()
	switch {
	case !begun || query.Get("state") != t.State:
		return web.Person{}, refusal{http.StatusBadRequest, "this login was begun in another browser, or too long ago"}
	case query.Get("error") != "":
		return web.Person{}, refusal{http.StatusForbidden, fmt.Sprintf("%s refuses the login: %.100q %.300q", s.Name(), query.Get("error"), query.Get("error_description"))}
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(r.Context(), issuerClient), askTime)
	defer cancel()
	p, err := s.discover(ctx)
	if err != nil {
		return web.Person{}, err
	}
	token, err := s.clientOf(p).Exchange(ctx, query.Get("code"), oauth2.VerifierOption(t.Verifier))
	if err != nil {
		return web.Person{}, fmt.Errorf("exchange the code: %w", err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return web.Person{}, refusal{http.StatusBadGateway, s.Name() + " sends no ID token: is the scope openid allowed for this client?"}
	}
	id, err := p.Verifier(&oidc.Config{ClientID: s.ClientID}).Verify(ctx, raw)
	if err != nil {
		return web.Person{}, refusal{http.StatusBadGateway, fmt.Sprintf("the ID token of %s is not good: %.300v", s.Name(), err)}
	}
	if id.Nonce != t.Nonce {
		return web.Person{}, refusal{http.StatusBadRequest, "the answer belongs to another login"}
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return web.Person{}, fmt.Errorf("ID token: %w", err)
	}
	if _, ok := claims[s.Claim]; !ok && p.UserInfoEndpoint() != "" {
		if err := s.addUserInfo(ctx, p, token, id.Subject, claims); err != nil {
			return web.Person{}, err
		}
	}
	return s.personOf(id.Subject, claims)
}

// addUserInfo adds claims from the issuer's user info endpoint. The ID token's claims have priority.
func (s *signIn) addUserInfo(ctx context.Context, p *oidc.Provider, token *oauth2.Token, subject string, claims map[string]any) error {
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return fmt.Errorf("user info: %w", err)
	}
	if info.Subject != subject {
		return fmt.Errorf("user info is about %q, and the ID token about %q", info.Subject, subject)
	}
	var all map[string]json.RawMessage
	if err := info.Claims(&all); err != nil {
		return fmt.Errorf("user info: %w", err)
	}
	for name, value := range all {
		if _, has := claims[name]; has {
			continue
		}
		var v any
		if err := json.Unmarshal(value, &v); err != nil {
			return fmt.Errorf("user info: %w", err)
		}
		claims[name] = v
	}
	return nil
}

// personOf returns the person whose account has these claims.
func (s *signIn) personOf(subject string, claims map[string]any) (web.Person, error) {
	name := nameOf(subject, claims)
	claim, ok := claims[s.Claim]
	if !ok {
		return web.Person{}, refusal{http.StatusForbidden, fmt.Sprintf(
			"%s says nothing of %q for %s: the claim has to be added to what it tells this client, or another one named by --oidc-claim", s.Name(), s.Claim, name)}
	}
	groups, ok := groupsOf(claim)
	if !ok {
		return web.Person{}, refusal{http.StatusForbidden, fmt.Sprintf("the claim %q of %s is neither a string nor a list of strings", s.Claim, name)}
	}
	if err := limits.Strings(struct {
		Name   string   `json:"the name"`
		Groups []string `json:"the groups"`
	}{name, groups}); err != nil {
		return web.Person{}, refusal{http.StatusForbidden, fmt.Sprintf("of the account that %s names, %v", s.Name(), err)}
	}
	role := s.roleOf(groups)
	if role == "" {
		return web.Person{}, refusal{http.StatusForbidden, fmt.Sprintf(
			"none of the groups of %s has a role here (%.300q): --oidc-role GROUP=ROLE gives one", name, strings.Join(groups, ", "))}
	}
	return web.Person{Name: name, Admin: role == gateway.Admins}, nil
}

// nameOf returns the name for the audit trail: the address that the issuer has verified, or else the subject, which a person cannot
// choose.
func nameOf(subject string, claims map[string]any) string {
	name := subject
	if email, ok := claims["email"].(string); ok && claims["email_verified"] == true && email != "" {
		name = email
	}
	name = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, name)
	const most = 128
	return strings.ToValidUTF8(name[:min(len(name), most)], "")
}

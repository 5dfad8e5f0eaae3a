package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/stet-dev/stet/cmd/stet/internal/signin"
	"github.com/stet-dev/stet/internal/limits"
)

// memory is the memory of a server in megabytes. Its parts share it. The rest is for the program itself and for uncounted data.
type memory int

const (
	usualMemory   memory = 320
	leastMemory   memory = 200 // enough for one call on the largest file
	programMemory memory = 30  // of the program itself; the garbage collector's limit does not include it
)

func (m *memory) add(flags *pflag.FlagSet) {
	flags.IntVar((*int)(m), "memory", int(usualMemory), "megabytes of memory for calls, answers and questions; calls that need more wait, or are refused for now")
}

func (m memory) check() error {
	if m < leastMemory {
		return fmt.Errorf("--memory: %d megabytes are not enough: want %d or more", m, leastMemory)
	}
	return nil
}

// keep sets the garbage collector's soft limit, unless the environment sets it.
func (m memory) keep() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(m) << 20)
	}
}

// part returns a budget of that many tenths.
func (m memory) part(tenths int64) *limits.Budget {
	return limits.NewBudget(limits.Process, int64(m)<<20*tenths/10)
}

// Shares of the memory, in tenths.
const (
	callShare     = 3 // calls that run in this process
	answerShare   = 3 // calls and answers that the gateway forwards
	questionShare = 3 // open questions
	heldShare     = 1 // sessions and connections
)

// oidcFlags configure the OpenID Connect accounts with which people log in to the page.
type oidcFlags struct {
	issuer, client, secret, url, claim string
	scopes                             []string
	roles                              map[string]string
	lasts                              time.Duration
}

func (f *oidcFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.issuer, "oidc-issuer", "", "let people log in to the page with accounts of this OpenID Connect issuer: https://HOST")
	flags.StringVar(&f.client, "oidc-client-id", "", "client ID of stet at the issuer")
	flags.StringVar(&f.secret, "oidc-secret", "", "file of the client secret of stet at the issuer")
	flags.StringVar(&f.url, "oidc-url", "", "address at which browsers reach this server, https://HOST; the issuer sends them back to /login/callback below it")
	flags.StringVar(&f.claim, "oidc-claim", "groups", "the claim of the issuer that lists a person's groups")
	flags.StringToStringVar(&f.roles, "oidc-role", nil, "role of a group: GROUP=approver or GROUP=admin; more than one is allowed")
	flags.StringSliceVar(&f.scopes, "oidc-scope", nil, "a further scope to ask the issuer for, besides openid, profile and email")
	flags.DurationVar(&f.lasts, "oidc-session", 12*time.Hour, "how long a person stays logged in, such as 30m or 8h")
}

// check says what is wrong with the flags.
func (f *oidcFlags) check() error {
	switch {
	case f.issuer == "" && (f.client != "" || f.secret != "" || f.url != "" || len(f.roles) > 0):
		return errors.New("--oidc-client-id, --oidc-secret, --oidc-url and --oidc-role go with --oidc-issuer")
	case f.issuer != "" && f.secret == "":
		return errors.New("--oidc-issuer needs --oidc-secret FILE: the secret that the issuer has given stet")
	case f.lasts <= 0:
		return errors.New("--oidc-session: want a time above 0")
	}
	return nil
}

// config returns nil if people log in with tokens only. absolute makes file names absolute.
func (f *oidcFlags) config(absolute func(string) string) (*signin.Config, error) {
	if f.issuer == "" {
		return nil, nil
	}
	secret, err := os.ReadFile(absolute(f.secret))
	if err != nil {
		return nil, misconfigured(fmt.Errorf("--oidc-secret: %w", err))
	}
	c := &signin.Config{
		Issuer: f.issuer, ClientID: f.client, Secret: strings.TrimSpace(string(secret)), URL: f.url,
		Claim: f.claim, Roles: f.roles, Scopes: f.scopes, Lasts: f.lasts,
	}
	if c.Secret == "" {
		return nil, misconfigured(fmt.Errorf("--oidc-secret: %s is empty", f.secret))
	}
	return c, nil
}

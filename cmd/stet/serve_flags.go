package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/pflag"

	"github.com/stet-dev/stet/cmd/stet/internal/site"
	"github.com/stet-dev/stet/internal/limits"
)

// memory is the memory of a server in megabytes. Its parts share it. The rest is for the program itself and for uncounted data.
type memory int

const (
	usualMemory   memory = 320
	leastMemory   memory = 200 // enough for one call on the largest file
	programMemory memory = 20  // of the program itself; the limit of the garbage collector does not include it. 40 saves 4 MB at the peak, and a third of the requests a second
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

// addAccounts adds the flags of the OpenID Connect accounts with which people log in to the page.
func addAccounts(flags *pflag.FlagSet, a *site.Accounts) {
	flags.StringVar(&a.Issuer, "oidc-issuer", "", "let people log in to the page with accounts of this OpenID Connect issuer: https://HOST")
	flags.StringVar(&a.ClientID, "oidc-client-id", "", "client ID of stet at the issuer")
	flags.StringVar(&a.SecretFile, "oidc-secret", "", "file of the client secret of stet at the issuer")
	flags.StringVar(&a.URL, "oidc-url", "", "address at which browsers reach this server, https://HOST; the issuer sends them back to /login/callback below it")
	flags.StringVar(&a.Claim, "oidc-claim", "groups", "the claim of the issuer that lists a person's groups")
	flags.StringToStringVar(&a.Roles, "oidc-role", nil, "role of a group: GROUP=approver or GROUP=admin; more than one is allowed")
	flags.StringSliceVar(&a.Scopes, "oidc-scope", nil, "a further scope to ask the issuer for, besides openid, profile and email")
	flags.DurationVar(&a.Lasts, "oidc-session", 12*time.Hour, "how long a person stays logged in, such as 30m or 8h")
}

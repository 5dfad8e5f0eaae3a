package e2e

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stet-dev/stet/test/npm"
)

// The test binary runs twice. Outside of the namespace it installs the agents and builds stet; inside it runs the tests. These
// variables pass the results of the first run to the second.
const (
	envInside = "STET_E2E_INSIDE" // set inside the namespace
	envSkip   = "STET_E2E_SKIP"   // why the tests cannot run here
	envAgents = "STET_E2E_AGENTS" // the directory of the agents' commands
	envStet   = "STET_E2E_STET"   // the stet binary
	envSDKs   = "STET_E2E_SDKS"   // the directory of the scripts for the SDKs
	envWeb    = "STET_E2E_WEB"    // the directory of playwright-core; "": it is not there
	envRuns   = "STET_E2E_RUNS"   // the directory of temporary homes and workspaces
	envOthers = "STET_E2E_OTHERS" // a directory for each version that was installed for ALL=1
)

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(envInside) != "" {
		if err := loopbackUp(); err != nil {
			os.Setenv(envSkip, fmt.Sprintf("bring up the loopback device: %v", err))
		}
		os.Setenv("PATH", os.Getenv(envAgents)+string(os.PathListSeparator)+os.Getenv("PATH"))
		watchSources()
		os.Exit(runAll(m))
	}
	runtime.LockOSThread() // the child ends with the thread that started it
	env, err := prepare()
	if err != nil {
		skipAll(m, err.Error())
	}
	for _, isolate := range isolations {
		cmd := exec.Command(os.Args[0], os.Args[1:]...)
		cmd.Env = append(append(os.Environ(), envInside+"=1"), env...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		isolate(cmd)
		err = cmd.Run()
		var exit *exec.ExitError
		switch {
		case err == nil:
			os.Exit(0)
		case errors.As(err, &exit):
			os.Exit(max(exit.ExitCode(), 1))
		}
	}
	skipAll(m, fmt.Sprintf("no network namespace here (%v): run as root, or allow user namespaces", err))
}

// made are the directories of the runs.
var made struct {
	sync.Mutex
	dirs []string
}

// runAll runs the tests, and removes what they leave if all of them pass.
func runAll(m *testing.M) int {
	code := m.Run()
	if testing.Verbose() {
		printTable(os.Stdout)
	}
	if code == 0 {
		for _, dir := range made.dirs {
			_ = os.RemoveAll(dir) // tidy removes what an agent still writes
		}
	}
	return code
}

// skipAll makes every test skip with the reason why. With STET_E2E=require that is a failure.
func skipAll(m *testing.M, why string) {
	if npm.Required() {
		fmt.Fprintf(os.Stderr, "the end-to-end tests are required, but cannot run: %s\n", why)
		os.Exit(1)
	}
	os.Setenv(envSkip, why)
	os.Exit(m.Run())
}

// prepare installs the agents and builds stet. It returns the variables that name their directories, or an error, which is the
// reason to skip.
func prepare() ([]string, error) {
	if testing.Short() {
		return nil, errors.New("switched off by -short")
	}
	if _, err := exec.LookPath("git"); err != nil {
		return nil, errors.New("git is not installed")
	}
	agents, err := npm.Install("agents", "agents")
	if err != nil {
		return nil, fmt.Errorf("install the agents: %w", err)
	}
	sdks, err := npm.Install("../sdk/js", "sdk-js")
	if err != nil {
		return nil, fmt.Errorf("install the SDKs: %w", err)
	}
	web, err := npm.Install("../web/npm", "web")
	if err != nil {
		fmt.Fprintf(os.Stderr, "without a browser: %v\n", err)
	} else {
		web = filepath.Join(web, "node_modules")
	}
	cache, err := npm.Cache()
	if err != nil {
		return nil, err
	}
	runs := filepath.Join(cache, "runs")
	if err := os.MkdirAll(runs, 0o755); err != nil {
		return nil, err
	}
	tidy(runs)
	stet := os.Getenv(envStet) // a binary to test instead of this checkout's
	if stet == "" {
		if stet, err = binary(runs); err != nil {
			return nil, err
		}
		if out, err := exec.Command("go", "build", "-o", stet, "../../cmd/stet").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build stet: %v\n%s", err, out)
			os.Exit(1)
		}
	}
	others, err := installOthers()
	if err != nil {
		return nil, err
	}
	return []string{
		envAgents + "=" + filepath.Join(agents, "node_modules", ".bin"), envSDKs + "=" + sdks,
		envWeb + "=" + web,
		envOthers + "=" + others,
		envStet + "=" + stet, envRuns + "=" + runs,
	}, nil
}

// binary returns the file into which this checkout's stet is built. Each checkout has its own file, because two may be tested at
// once.
func binary(runs string) (string, error) {
	checkout, err := filepath.Abs("../..")
	sum := sha256.Sum256([]byte(checkout))
	return filepath.Join(runs, fmt.Sprintf("bin-%x", sum[:6]), "stet"), err
}

// tidy removes the directories of runs that ended hours ago: a failed one with Codex holds 400 MB.
func tidy(runs string) {
	entries, _ := os.ReadDir(runs) // if the directory cannot be read, nothing is removed
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > 3*time.Hour {
			_ = os.RemoveAll(filepath.Join(runs, e.Name()))
		}
	}
}

// watchSources stats every source file of stet. Otherwise "go test" could use a cached result of an older stet.
func watchSources() {
	_ = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			_, err = os.Stat(path)
		}
		return err
	})
}

// need skips the test if agents cannot run here. Otherwise the test runs beside others: each has its own home, workspace and model.
func need(t *testing.T) {
	t.Helper()
	if why := os.Getenv(envSkip); why != "" {
		t.Skip(why)
	}
	t.Parallel()
}

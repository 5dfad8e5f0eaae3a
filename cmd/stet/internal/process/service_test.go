package process

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newService(t *testing.T, system string, did *[]string) *Service {
	dir := t.TempDir()
	program := filepath.Join(dir, "st et 100%$x&<")
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	return &Service{
		System: system, Program: program, Listen: "127.0.0.1:4141", Config: dir, Home: dir, State: dir, User: 7, Name: "me & <you>", Env: []string{`XDG_STATE_HOME=/a b%&`},
		Run: func(_ context.Context, name string, args ...string) error {
			*did = append(*did, strings.Join(append([]string{name}, args...), " "))
			return nil
		},
	}
}

// An installed service can be read back, and is removed completely.
func TestInstallAndRemove(t *testing.T) {
	for system, files := range map[string]int{"linux": 2, "darwin": 1, "windows": 1} {
		t.Run(system, func(t *testing.T) {
			var did []string
			s := newService(t, system, &did)
			if s.installed() || s.Address() != "" {
				t.Error("it is installed before that")
			}
			written, err := s.Install(t.Context())
			if err != nil || len(written) != files || len(did) == 0 || !s.installed() || s.Address() != s.Listen {
				t.Errorf("%v, %v, %q; at %q", written, err, did, s.Address())
			}
			other := *s
			if other.Listen, other.Program = "127.0.0.1:5151", "/elsewhere/stet"; other.Address() != s.Listen {
				t.Errorf("with another address in the configuration, and another program, it is at %q", other.Address())
			}
			for _, name := range written {
				if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
					t.Errorf("%v, %v", info.Mode(), err)
				}
				if strings.HasSuffix(name, ".plist") || strings.HasSuffix(name, ".xml") {
					readable(t, name, s.Program)
					readable(t, name, map[string]string{".plist": "/a b%&", ".xml": s.Name}[filepath.Ext(name)])
				}
			}
			removed, err := s.Remove(t.Context())
			if diff := cmp.Diff(written, removed); diff != "" || err != nil || s.installed() {
				t.Errorf("%v %s", err, diff)
			}
			if removed, err = s.Remove(t.Context()); len(removed) > 0 || err != nil {
				t.Error(removed, err)
			}
		})
	}
	if _, err := (&Service{System: "plan9"}).Install(t.Context()); err == nil || !strings.Contains(err.Error(), "start \"stet proxy\" yourself") {
		t.Error(err)
	}
}

// readable checks that a file is XML, with a text in it.
func readable(t *testing.T, name, want string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	d, found := xml.NewDecoder(f), false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, is := token.(xml.CharData); is && string(text) == want {
			found = true
		}
	}
	if !found {
		t.Errorf("%s does not have %q", name, want)
	}
}

// If the system refuses the service, none of its files remain.
func TestInstallFails(t *testing.T) {
	var did []string
	s := newService(t, "linux", &did)
	s.Run = func(_ context.Context, _ string, args ...string) error {
		if args[1] == "enable" {
			return errors.New("no bus")
		}
		return nil
	}
	if written, err := s.Install(t.Context()); err == nil || len(written) > 0 || s.installed() {
		t.Error(written, err)
	}
}

// systemd itself checks the units.
func TestUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	var did []string
	s := newService(t, "linux", &did)
	written, err := s.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), analyze, append([]string{"--user", "--man=no", "verify"}, written...)...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "stet.") {
		t.Errorf("%v: %s", err, out)
	}
}

package process

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Service makes the system start "stet proxy": systemd when a request comes (socket activation), launchd and the task scheduler of Windows when the person
// logs in. So the proxy always runs when an agent sends a request to a fixed address.
type Service struct {
	System  string // as in runtime.GOOS
	Program string // path of stet
	Listen  string // HOST:PORT
	Config  string // directory of the person's configuration files ($XDG_CONFIG_HOME); for systemd
	Home    string // home directory; for launchd
	State   string // stet's state directory; for Windows
	User    int    // user id; for launchd
	Name    string // the user's name, with the domain; for Windows and Lingers
	// Env has the variables of the proxy, "NAME=value". On Windows it gets all variables of the user.
	Env []string
	// Run runs a program of the system; nil: the real one.
	Run func(ctx context.Context, name string, args ...string) error
}

// label is the service's name for launchd.
const label = "dev.stet.proxy"

// file is a file that the system reads.
type file struct {
	path, text string
}

// files returns the service's files.
func (s *Service) files() ([]file, error) {
	switch s.System {
	case "linux":
		dir, env := filepath.Join(s.Config, "systemd", "user"), ""
		for _, v := range s.Env {
			env += "Environment=" + unitWord(v) + "\n"
		}
		return []file{
			{filepath.Join(dir, "stet.socket"), "[Unit]\nDescription=Address of the proxy of stet\n\n[Socket]\nListenStream=" + s.Listen +
				"\n\n[Install]\nWantedBy=sockets.target\n"},
			{filepath.Join(dir, "stet.service"), "[Unit]\nDescription=Proxy of stet for coding agents\nRequires=stet.socket\n\n[Service]\nExecStart=:" +
				unitWord(s.Program) + " proxy\n" + env + "Restart=on-failure\nNoNewPrivileges=true\n"},
		}, nil
	case "darwin":
		return []file{{filepath.Join(s.Home, "Library", "LaunchAgents", label+".plist"), fmt.Sprintf(plist, label, xmlText(s.Program), xmlText(s.Listen), s.plistEnv())}}, nil
	case "windows":
		return []file{{filepath.Join(s.State, "service.xml"), fmt.Sprintf(task, xmlText(s.Name), xmlText(s.Program), xmlText(s.Listen))}}, nil
	}
	return nil, fmt.Errorf("stet has no service on %s: start \"stet proxy\" yourself", s.System)
}

const plist = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key><string>%s</string>
	<key>ProgramArguments</key>
	<array><string>%s</string><string>proxy</string><string>--listen</string><string>%s</string></array>
	<key>EnvironmentVariables</key><dict>%s</dict>
	<key>RunAtLoad</key><true/>
	<key>KeepAlive</key><true/>
</dict>
</plist>
`

const task = `<?xml version="1.0"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <Triggers><LogonTrigger><UserId>%[1]s</UserId></LogonTrigger></Triggers>
  <Principals><Principal id="Author"><UserId>%[1]s</UserId><LogonType>InteractiveToken</LogonType><RunLevel>LeastPrivilege</RunLevel></Principal></Principals>
  <Settings>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>999</Count></RestartOnFailure>
  </Settings>
  <Actions><Exec><Command>%[2]s</Command><Arguments>proxy --listen %[3]s</Arguments></Exec></Actions>
</Task>
`

// unitWord quotes a word of a command in a unit file, and escapes % (systemd.syntax).
func unitWord(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(s) + `"`
}

func (s *Service) plistEnv() (all string) {
	for _, v := range s.Env {
		name, value, _ := strings.Cut(v, "=")
		all += "<key>" + xmlText(name) + "</key><string>" + xmlText(value) + "</string>"
	}
	return all
}

func xmlText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder returns no errors
	return b.String()
}

// start and stop return the commands that make the system read the files, and forget them.
func (s *Service) start() [][]string {
	switch s.System {
	case "linux":
		return [][]string{{"systemctl", "--user", "daemon-reload"}, {"systemctl", "--user", "enable", "--now", "stet.socket"}}
	case "darwin":
		return [][]string{{"launchctl", "bootstrap", fmt.Sprintf("gui/%d", s.User), filepath.Join(s.Home, "Library", "LaunchAgents", label+".plist")}}
	}
	return [][]string{{"schtasks", "/Create", "/TN", "stet", "/XML", filepath.Join(s.State, "service.xml"), "/F"}, {"schtasks", "/Run", "/TN", "stet"}}
}

func (s *Service) stop() [][]string {
	switch s.System {
	case "linux":
		return [][]string{{"systemctl", "--user", "disable", "--now", "stet.socket"}, {"systemctl", "--user", "stop", "stet.service"}}
	case "darwin":
		return [][]string{{"launchctl", "bootout", fmt.Sprintf("gui/%d/%s", s.User, label)}}
	}
	return [][]string{{"schtasks", "/End", "/TN", "stet"}, {"schtasks", "/Delete", "/TN", "stet", "/F"}}
}

// Files returns the paths of the service's files, which may not be there.
func (s *Service) Files() (paths []string, err error) {
	files, err := s.files()
	for _, f := range files {
		paths = append(paths, f.path)
	}
	return paths, err
}

// Install writes the service's files and registers them. It returns the files. If that fails, it removes them again.
func (s *Service) Install(ctx context.Context) (written []string, err error) {
	files, err := s.files()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
			return nil, err
		}
		if err := writePrivate(f.path, f.text); err != nil {
			return nil, err
		}
		written = append(written, f.path)
	}
	for _, command := range s.start() {
		if err := s.run(ctx, command); err != nil {
			_, removed := s.Remove(ctx)
			return nil, errors.Join(err, removed)
		}
	}
	return written, nil
}

// writePrivate writes a file that only its owner can read: the address of an HTTP proxy may contain a password.
func writePrivate(path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Chmod(path, 0o600) // the file may have existed
}

// Remove ends the service, and removes and returns its files. There may be none.
func (s *Service) Remove(ctx context.Context) (removed []string, err error) {
	files, err := s.files()
	if err != nil {
		return nil, err
	}
	if s.installed() {
		for _, command := range s.stop() {
			_ = s.run(ctx, command) // a service that does not run cannot be ended
		}
	}
	for _, f := range files {
		switch gone := os.Remove(f.path); {
		case gone == nil:
			removed = append(removed, f.path)
		case !errors.Is(gone, fs.ErrNotExist):
			err = errors.Join(err, gone)
		}
	}
	if s.System == "linux" && len(removed) > 0 {
		_ = s.run(ctx, []string{"systemctl", "--user", "daemon-reload"})
	}
	return removed, err
}

// installed reports whether all files of the service are there.
func (s *Service) installed() bool {
	files, err := s.files()
	for _, f := range files {
		if _, missing := os.Stat(f.path); missing != nil {
			return false
		}
	}
	return err == nil
}

// listens finds the listen address in a file of the service.
var listens = regexp.MustCompile(`(?:ListenStream=|--listen</string><string>|proxy --listen )([^<\s]+)`)

// Address returns the installed service's listen address; "" if it is not installed.
func (s *Service) Address() string {
	files, err := s.files()
	if err != nil {
		return ""
	}
	text, err := os.ReadFile(files[0].path)
	if at := listens.FindSubmatch(text); err == nil && at != nil {
		return string(at[1])
	}
	return ""
}

// Lingers reports whether systemd keeps the user's services running after the user logs out (loginctl enable-linger).
func (s *Service) Lingers() bool {
	_, err := os.Stat(filepath.Join("/var/lib/systemd/linger", s.Name))
	return s.Name != "" && err == nil
}

func (s *Service) run(ctx context.Context, command []string) error {
	if s.Run != nil {
		return s.Run(ctx, command[0], command[1:]...)
	}
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, strings.TrimSpace(string(out)))
	}
	return err
}

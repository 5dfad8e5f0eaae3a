package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// systems are the operating systems that programs are built for.
var systems = []string{"linux", "darwin", "windows"}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|copyright)`)

// licences writes a file with the licences of Go and of all modules that the program is linked with, on any system. It creates a
// missing directory of the file.
func licences(file string) error {
	dirs := map[string]string{}
	for _, system := range systems {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/stet")
		cmd.Dir, cmd.Stderr = "..", os.Stderr
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(out)) {
			if name, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				dirs[name] = dir
			}
		}
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	dirs["Go"] = strings.TrimSpace(string(goroot))
	var b bytes.Buffer
	b.WriteString("stet is built from the following modules. Their licences:\n")
	for _, name := range slices.Sorted(maps.Keys(dirs)) {
		entries, err := os.ReadDir(dirs[name])
		if err != nil {
			return err
		}
		found := 0
		for _, e := range entries {
			if e.IsDir() || !licenceFile.MatchString(e.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dirs[name], e.Name()))
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "\n=== %s: %s\n\n%s\n", name, e.Name(), bytes.TrimSpace(text))
			found++
		}
		if found == 0 && name != "Go" { // a Linux distribution may keep Go's licence in another place
			return fmt.Errorf("%s: no file with a licence", name)
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

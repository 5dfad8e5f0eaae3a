package faults

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// clockOff is the number of seconds by which the clock of a server is wrong, if STET_FAULTS_CLOCKS is 1. The clock of the host is
// right.
var clockOff = map[int]string{1: "3600", 2: "-3600"}

func wrongClocks() bool { return os.Getenv("STET_FAULTS_CLOCKS") == "1" }

// clockOverlay returns the file for "go build -overlay". The program that is built with it adds the seconds of CLOCK_OFF to the
// time of day that the system returns. The monotonic clock, which measures durations, stays right.
func clockOverlay(dir string) (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	text := string(source)
	for _, change := range [][2]string{
		{"import (\n", "import (\n\t\"syscall\"\n"},
		{"func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n", `var clockOff = func() int64 {
	text, _ := syscall.Getenv("CLOCK_OFF")
	seconds, _ := atoi(text)
	return int64(seconds)
}()

func Now() Time {
	sec, nsec, mono := runtimeNow()
	sec += clockOff
`},
	} {
		before := text
		if text = strings.Replace(text, change[0], change[1], 1); text == before {
			return "", errors.New("package time of this version of Go is written in another way")
		}
	}
	changed, overlay := filepath.Join(dir, "time.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	return overlay, errors.Join(os.WriteFile(changed, []byte(text), 0o600), os.WriteFile(overlay, list, 0o600))
}

package demo

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
)

// sample is the project that the agents of the demo work on.
//
//go:embed sample
var sample embed.FS

// outputs are what the commands of stet demo print.
//
//go:embed outputs
var outputs embed.FS

// commands has the name of the output of each command that the agent of stet demo runs. No command is executed.
var commands = map[string]string{
	"git log --oneline -40":     "log",
	"ls -R":                     "files",
	"python -m pytest":          "tests-failed",
	"python -m pytest tests":    "tests-passed",
	"python -m mypy --verbose":  "types",
	"python -m black --check .": "format",
	"git status":                "status",
	"wc -l *.py tests/*.py":     "lines",
}

// runCommand returns the recorded output of a command.
func runCommand(command string) (string, error) {
	text, err := outputs.ReadFile("outputs/" + commands[command] + ".txt")
	return string(text), err
}

// writeSample writes the sample's original files.
func writeSample(dir string) error {
	return fs.WalkDir(sample, "sample", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel("sample", filepath.FromSlash(name))
		if err != nil {
			return err
		}
		to := filepath.Join(dir, below)
		if e.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		text, err := sample.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o600)
	})
}

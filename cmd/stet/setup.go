package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// mcpClient says where a client has its servers, and how it writes one down.
type mcpClient struct {
	name  string
	file  func(p *program) string // empty when there is no home to put it in
	path  []string                // of the entry in the file
	entry func(command string) map[string]any
	toml  bool
	note  string // what else the person should know
}

// workspaceFolder stands for the open project, in the clients that start their
// servers elsewhere.
const workspaceFolder = "${workspaceFolder}"

var mcpClients = []mcpClient{
	{
		name: "claude", file: atProject(".mcp.json"), path: []string{"mcpServers", "stet"}, entry: plainServer,
		note: `to leave the agent these file tools alone, add "permissions": {"deny": ["Edit", "Write", "NotebookEdit"]} to .claude/settings.json`,
	},
	{
		name: "codex", file: codexFile, path: []string{"mcp_servers", "stet"}, entry: slowServer, toml: true,
		note: "the server works in the directory in which Codex was started",
	},
	{
		name: "opencode", file: opencodeFile, path: []string{"mcp", "stet"}, entry: opencodeServer,
		note: `to leave the agent these file tools alone, add "tools": {"edit": false, "write": false, "patch": false} to the same file`,
	},
	{
		name: "qwen", file: atProject(".qwen/settings.json"), path: []string{"mcpServers", "stet"}, entry: qwenServer,
		note: `to leave the agent these file tools alone, add "tools": {"exclude": ["edit", "write_file"]} to the same file`,
	},
	{name: "vscode", file: atProject(".vscode/mcp.json"), path: []string{"servers", "stet"}, entry: vscodeServer},
	{name: "zed", file: atProject(".zed/settings.json"), path: []string{"context_servers", "stet"}, entry: zedServer},
	{name: "cursor", file: atProject(".cursor/mcp.json"), path: []string{"mcpServers", "stet"}, entry: folderServer},
}

func atProject(name string) func(*program) string {
	return func(p *program) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }
}

func codexFile(p *program) string {
	home := p.getenv("CODEX_HOME")
	if home == "" {
		home = p.below(".codex")
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, "config.toml")
}

// opencodeFile is the project's file, the one with comments if that is there.
func opencodeFile(p *program) string {
	commented := filepath.Join(p.dir, "opencode.jsonc")
	if _, err := os.Stat(commented); err == nil {
		return commented
	}
	return filepath.Join(p.dir, "opencode.json")
}

func plainServer(command string) map[string]any {
	return map[string]any{"command": command, "args": []string{"mcp"}}
}

// slowServer gives calls the time that a person may take.
func slowServer(command string) map[string]any {
	return map[string]any{"command": command, "args": []string{"mcp"}, "tool_timeout_sec": 660}
}

// qwenServer is slowServer in milliseconds.
func qwenServer(command string) map[string]any {
	return map[string]any{"command": command, "args": []string{"mcp"}, "timeout": 660_000}
}

func folderServer(command string) map[string]any {
	return map[string]any{"command": command, "args": []string{"mcp", "--root", workspaceFolder}}
}

func vscodeServer(command string) map[string]any {
	return map[string]any{"type": "stdio", "command": command, "args": []string{"mcp", "--root", workspaceFolder}}
}

func zedServer(command string) map[string]any {
	return map[string]any{"source": "custom", "command": command, "args": []string{"mcp"}, "env": map[string]string{}}
}

func opencodeServer(command string) map[string]any {
	return map[string]any{"type": "local", "command": []string{command, "mcp"}, "enabled": true}
}

func (p *program) setupCommand() *cobra.Command {
	var write bool
	var names []string
	for _, c := range mcpClients {
		names = append(names, c.name)
	}
	all := strings.Join(names, "|")
	cmd := &cobra.Command{
		Use:   "setup " + all,
		Short: "Tell an agent about the file tools",
		Long: `Print what an agent's configuration has to say for it to start "stet mcp", and
where. With --write it is put there: what the file holds already stays as it is,
comments too, and a copy of it is kept beside it. Of an entry that is there
already nothing is changed; where it says something else, you are told.

The configuration is the project's, in the working directory; Codex has one for
all projects.`,
		Example: `stet setup opencode
stet setup claude --write`,
		ValidArgs: names,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usage(cmd, fmt.Errorf("which client? choose one of %s", strings.Join(names, ", ")))
			case len(args) > 1:
				return usage(cmd, fmt.Errorf("unexpected argument %q", args[1]))
			case !slices.Contains(names, args[0]):
				return usage(cmd, fmt.Errorf("unknown client %q: choose one of %s", args[0], strings.Join(names, ", ")))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			i := slices.Index(names, args[0])
			return p.setup(mcpClients[i], write)
		},
	}
	cmd.Flags().BoolVar(&write, "write", false, "write it to the client's configuration")
	return cmd
}

// byteOrderMark stands before the text in files of some Windows editors.
const byteOrderMark = "\ufeff"

func (p *program) setup(c mcpClient, write bool) error {
	file := c.file(p)
	if file == "" {
		return misconfigured(fmt.Errorf("there is no home directory (HOME) for the configuration of %s", c.name))
	}
	entry := c.entry(p.ownCommand())
	add := addMember
	if c.toml {
		add = addTable
	}
	if !write {
		snippet, err := add(nil, c.path, entry)
		if err != nil {
			return err
		}
		p.say("this belongs into %s (--write puts it there):", file)
		_, err = p.out.Write(snippet)
		p.note(c)
		return err
	}
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	existed := err == nil
	if to, err := os.Readlink(file); err == nil && !existed {
		return fmt.Errorf("%s is a link to %q, which is not there: make that file, or remove the link; nothing was written", file, to)
	}
	text, marked := bytes.CutPrefix(old, []byte(byteOrderMark))
	now, err := add(text, c.path, entry)
	if err != nil {
		return fmt.Errorf("%s: %w; nothing was written", file, err)
	}
	if marked {
		now = append([]byte(byteOrderMark), now...)
	}
	if existed && bytes.Equal(old, now) {
		p.say("%s has it already", file)
		return nil
	}
	kept, err := replaceConfig(file, old, now, existed)
	if err != nil {
		return err
	}
	p.say("written to %s", file)
	if kept != "" {
		p.say("what it held is in %s", kept)
	}
	p.note(c)
	return nil
}

func (p *program) note(c mcpClient) {
	if c.note != "" {
		p.say("%s", c.note)
	}
	p.say("what it wants to write is shown by \"stet approve\", in another terminal")
}

// ownCommand is how an agent is to start this program: by its name alone where
// that finds it.
func (p *program) ownCommand() string {
	self, err := os.Executable()
	if err != nil {
		return "stet"
	}
	if found, err := exec.LookPath("stet"); err == nil {
		a, errA := os.Stat(found)
		b, errB := os.Stat(self)
		if errA == nil && errB == nil && os.SameFile(a, b) {
			return "stet"
		}
	}
	return self
}

// replaceConfig puts a new text into a file, all or nothing, and keeps the old
// one beside it. A link stays one. It returns the name of the copy.
func replaceConfig(file string, old, now []byte, existed bool) (kept string, err error) {
	mode := fs.FileMode(0o644)
	if existed {
		if file, err = filepath.EvalSymlinks(file); err != nil {
			return "", err
		}
		info, err := os.Stat(file)
		if err != nil {
			return "", err
		}
		mode = info.Mode().Perm()
		if kept, err = backUp(file, old, mode); err != nil {
			return "", err
		}
	} else if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	t, err := os.CreateTemp(filepath.Dir(file), ".stet-setup-*")
	if err != nil {
		return "", err
	}
	_, err = t.Write(now)
	err = cmp.Or(err, t.Chmod(mode), t.Sync(), t.Close())
	if err == nil {
		err = os.Rename(t.Name(), file)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(t.Name()))
	}
	return kept, nil
}

// backUp writes the old text under the first free name.
func backUp(file string, old []byte, mode fs.FileMode) (string, error) {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s.stet-backup-%d", file, n)
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(old)
		return name, errors.Join(err, f.Close())
	}
}

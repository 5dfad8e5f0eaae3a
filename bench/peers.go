package main

import (
	"cmp"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

var peersDir = flag.String("peers", "", "directory that peers.sh has installed other proxies into; they are measured too")

// peer is another proxy. In its command and its configuration, {port} stands for the port at which it listens, and {upstream} for
// the address to which it sends.
type peer struct {
	name    string
	path    string // of its base URL
	program string // the path of the program in the directory of the peers
	args    []string
	env     []string
	config  string // the content of a file {config}
	home    string // where that file is in the home directory, which is a new one; empty: config.yaml
}

var peers = []peer{
	{
		name: "context-guru", path: "/anthropic", program: "context-guru",
		args: []string{"--anthropic-upstream", "{upstream}", "--preset", "codesafe"}, env: []string{"LISTEN_ADDR=127.0.0.1:{port}"},
	},
	{
		name: "headroom", program: "venv/bin/headroom", args: []string{"proxy", "--port", "{port}", "--no-rate-limit"},
		env: []string{"ANTHROPIC_TARGET_API_URL={upstream}", "HEADROOM_TELEMETRY=off"},
	},
	{
		name: "litellm", program: "venv/bin/litellm", args: []string{"--config", "{config}", "--host", "127.0.0.1", "--port", "{port}"},
		env:    []string{"LITELLM_LOCAL_MODEL_COST_MAP=True"},
		config: "model_list:\n  - model_name: \"*\"\n    litellm_params:\n      model: anthropic/*\n      api_base: {upstream}\n      api_key: none\n",
	},
	{
		name: "claude-code-router", program: "npm/node_modules/.bin/ccr", args: []string{"start"}, home: ".claude-code-router/config.json",
		config: `{"PORT": {port}, "LOG": false, "Router": {"default": "up,claude-sonnet-4-5"}, "Providers": [{"name": "up", "api_key": "none",
			"api_base_url": "{upstream}/v1/messages", "models": ["claude-sonnet-4-5"], "transformer": {"use": ["Anthropic"]}}]}`,
	},
}

// side starts the peer, with its files in dir, and waits until it answers.
func (p peer) side(upstream, dir string) (*hopSide, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, p.name)
	config := filepath.Join(dir, cmp.Or(p.home, "config.yaml"))
	if err := os.MkdirAll(filepath.Dir(config), 0o755); err != nil {
		return nil, err
	}
	fill := strings.NewReplacer("{port}", port, "{upstream}", upstream, "{config}", config)
	if err := os.WriteFile(config, []byte(fill.Replace(p.config)), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(*peersDir, p.program))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
	for _, a := range p.args {
		cmd.Args = append(cmd.Args, fill.Replace(a))
	}
	for _, e := range p.env {
		cmd.Env = append(cmd.Env, fill.Replace(e))
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &hopSide{name: p.name, url: "http://127.0.0.1:" + port + p.path, cmd: cmd}
	if err := s.answers(); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		said, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("%s: %w: %s", p.name, err, said[max(0, len(said)-2000):])
	}
	return s, nil
}

// installed returns the peers that are installed.
func installed() (there []peer) {
	for _, p := range peers {
		if _, err := os.Stat(filepath.Join(*peersDir, p.program)); *peersDir != "" && err == nil {
			there = append(there, p)
		}
	}
	return there
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

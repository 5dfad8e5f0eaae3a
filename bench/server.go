package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// server is the process of a server. Requests and answers are single lines, so that the client needs little time.
type server struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

var errNoAnswer = errors.New("no answer")

// start starts a server, and returns after it has answered the first request.
func start(cmd *exec.Cmd) (*server, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	_, err = s.request("initialize", json.RawMessage(`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`))
	if err == nil {
		_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	return s, err
}

// stop ends the server, and waits for its end.
func (s *server) stop() {
	_ = s.in.Close() // it may have ended
	kill := time.AfterFunc(2*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	_ = s.cmd.Wait() // the exit status is not measured
}

// request sends a request, and returns the line that answers it. If the server takes too long, it is killed.
func (s *server) request(method string, params any) ([]byte, error) {
	s.id++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	kill := time.AfterFunc(*limit, func() { _ = s.cmd.Process.Kill() })
	for line = line[:0]; ; {
		part, err := s.out.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if !kill.Stop() {
				err = errNoAnswer
			}
			return nil, err
		}
	}
	kill.Stop()
	return line, nil
}

// call calls a tool.
func (s *server) call(c call) ([]byte, error) {
	line, err := s.request("tools/call", map[string]any{"name": c.tool, "arguments": c.args})
	if err != nil {
		return nil, err
	}
	if bytes.Contains(line[max(0, len(line)-200):], []byte(`"isError":true`)) || bytes.Contains(line[:min(200, len(line))], []byte(`"isError":true`)) {
		return nil, fmt.Errorf("%s: %.300s", c.tool, line)
	}
	return line, nil
}

// memory returns the memory of the process in MB: the current use, the part of it without pages of files, and the highest use.
func (s *server) memory() (now, own, most float64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, 0, 0 // this system has no such file
	}
	for line := range strings.Lines(string(status)) {
		var kb float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kb); err == nil {
			now = kb / 1024
		}
		if _, err := fmt.Sscanf(line, "RssAnon: %f kB", &kb); err == nil {
			own = kb / 1024
		}
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kb); err == nil {
			most = kb / 1024
		}
	}
	return now, own, most
}

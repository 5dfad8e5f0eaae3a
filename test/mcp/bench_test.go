package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// envRoot makes this test binary an MCP server over stdio, with stet's file tools for that directory. It asks no person.
// STET_E2E_STET names another stet binary to measure.
const envRoot = "STET_TEST_MCP_ROOT"

// peer is a measured file server: its command, and the names of its tools.
type peer struct {
	name    string
	command func(b *testing.B, dir string) *exec.Cmd
	read    func(path string) (string, args)
	write   func(path, content string) (string, args)
	page    func(path string, line int) (string, args) // nil: the server has no such tool
}

var peers = []peer{
	{
		name: "stet",
		command: func(b *testing.B, dir string) *exec.Cmd {
			if stet := os.Getenv("STET_E2E_STET"); stet != "" {
				return exec.Command(stet, "mcp", "--root", dir, "--rate", "0", "--write-without-asking")
			}
			self, err := os.Executable()
			if err != nil {
				b.Fatal(err)
			}
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), envRoot+"="+dir, "XDG_STATE_HOME="+b.TempDir())
			return cmd
		},
		read: func(path string) (string, args) { return "read_file", args{"path": path} },
		write: func(path, content string) (string, args) {
			return "write_file", args{"path": path, "content": content, "backup": false}
		},
		page: func(path string, line int) (string, args) {
			return "read_file", args{"path": path, "start_line": line, "end_line": line + 49}
		},
	},
	{
		name: "node",
		command: func(b *testing.B, dir string) *exec.Cmd {
			modules := packages.Need(b)
			return exec.Command(filepath.Join(modules, "node", "bin", "node"), filepath.Join(modules, "@modelcontextprotocol", "server-filesystem", "dist", "index.js"), dir)
		},
		read:  func(path string) (string, args) { return "read_text_file", args{"path": path} },
		write: func(path, content string) (string, args) { return "write_file", args{"path": path, "content": content} },
	},
}

// wire speaks MCP with a process, one line at a time, with little work of its own.
type wire struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

func start(b *testing.B, p peer, dir string) *wire {
	cmd := p.command(b, dir)
	cmd.Dir = dir // relative paths are relative to it
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	w := &wire{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	w.request(b, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		b.Fatal(err)
	}
	return w
}

func (w *wire) stop(b *testing.B) {
	if err := w.in.Close(); err != nil {
		b.Error(err)
	}
	kill := time.AfterFunc(5*time.Second, func() { _ = w.cmd.Process.Kill() })
	defer kill.Stop()
	_ = w.cmd.Wait() // the exit status is not measured
}

// request sends a request, and returns the line that answers it.
func (w *wire) request(b *testing.B, method, params string) []byte {
	w.id++
	if _, err := fmt.Fprintf(w.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", w.id, method, params); err != nil {
		b.Fatal(err)
	}
	var line []byte
	for {
		part, err := w.out.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			break
		}
		if err != bufio.ErrBufferFull {
			b.Fatal(err)
		}
	}
	return line
}

func (w *wire) call(b *testing.B, name string, a args) []byte {
	params, err := json.Marshal(args{"name": name, "arguments": a})
	if err != nil {
		b.Fatal(err)
	}
	line := w.request(b, "tools/call", string(params))
	if bytes.Contains(line[len(line)-min(len(line), 200):], []byte(`"isError":true`)) {
		b.Fatalf("%s: %.500s", name, line)
	}
	return line
}

// peak reports the most memory that the process has used, in MB.
func (w *wire) peak(b *testing.B) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.cmd.Process.Pid))
	if err != nil {
		return // this system has no such file
	}
	for line := range strings.Lines(string(status)) {
		var kb float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kb); err == nil {
			b.ReportMetric(kb/1024, "MB-peak")
		}
	}
}

func BenchmarkStart(b *testing.B) {
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) {
			dir := b.TempDir()
			for b.Loop() {
				w := start(b, p, dir)
				b.StopTimer()
				w.stop(b)
				b.StartTimer()
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20, 9 << 20} {
		for _, p := range peers {
			b.Run(fmt.Sprintf("%dKB/%s", size>>10, p.name), func(b *testing.B) {
				dir := b.TempDir()
				path := filepath.Join(dir, "f.txt")
				if err := os.WriteFile(path, lines(size), 0o644); err != nil {
					b.Fatal(err)
				}
				w := start(b, p, dir)
				defer w.stop(b)
				name, a := p.read("f.txt")
				b.SetBytes(int64(size))
				for b.Loop() {
					if got := w.call(b, name, a); len(got) < size {
						b.Fatalf("%d bytes: %.300s", len(got), got)
					}
				}
				w.peak(b)
			})
		}
	}
}

func BenchmarkWrite4KB(b *testing.B) {
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) {
			w := start(b, p, b.TempDir())
			defer w.stop(b)
			content := [2]string{string(lines(4 << 10)), strings.ToUpper(string(lines(4 << 10)))}
			for i := 0; b.Loop(); i++ {
				name, a := p.write("f.txt", content[i%2])
				w.call(b, name, a)
			}
		})
	}
}

// BenchmarkPage reads 50 lines from the middle of 500 MB, and a line of 10 MB. The peer answers neither.
func BenchmarkPage(b *testing.B) {
	for _, p := range peers {
		if p.page == nil {
			continue
		}
		for _, c := range []struct {
			name string
			line int
			make func(f *os.File) error
		}{
			{"500MB", 4_000_000, func(f *os.File) error {
				block := lines(1 << 20)
				for range 500 {
					if _, err := f.Write(block); err != nil {
						return err
					}
				}
				return nil
			}},
			{"10MBline", 1, func(f *os.File) error { _, err := f.Write(bytes.Repeat([]byte("x"), 10<<20)); return err }},
		} {
			b.Run(c.name+"/"+p.name, func(b *testing.B) {
				dir := b.TempDir()
				f, err := os.Create(filepath.Join(dir, "f.txt"))
				if err != nil {
					b.Fatal(err)
				}
				if err := c.make(f); err != nil {
					b.Fatal(err)
				}
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
				w := start(b, p, dir)
				defer w.stop(b)
				name, a := p.page("f.txt", c.line)
				w.call(b, name, a) // the first call makes the index, and is not measured
				for b.Loop() {
					w.call(b, name, a)
				}
				w.peak(b)
			})
		}
	}
}

// lines returns a text of size bytes, in lines of 64 bytes.
func lines(size int) []byte {
	line := []byte(strings.Repeat("some text ", 6) + "abc\n")
	return bytes.Repeat(line, size/len(line))
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// call is a call of a tool.
type call struct {
	tool string
	args map[string]any
}

// side is one of the compared servers.
type side struct {
	name    string
	command func() *exec.Cmd
	server  *server
}

type bench struct {
	tree  string
	sides []*side
}

// job is a row of the table: the same work for both sides.
type job struct {
	name  string
	times int
	calls [2]func(i int) call // nil: the server has no such tool
	least int                 // a shorter answer is wrong
	goal  string
	note  string
}

func read(tool, file string, more ...any) func(int) call {
	args := map[string]any{"path": file}
	for i := 0; i < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	return func(int) call { return call{tool, args} }
}

func write(more ...any) func(int) call {
	texts := [2]string{string(lines(4 << 10)), strings.ToUpper(string(lines(4 << 10)))}
	return func(i int) call {
		args := map[string]any{"path": "w.txt", "content": texts[i%2]}
		for i := 0; i < len(more); i += 2 {
			args[more[i].(string)] = more[i+1]
		}
		return call{"write_file", args}
	}
}

const (
	middle = 4_000_000 // the number of a line of the large file
	end    = 8_192_000 // the number of its last line
)

var jobs = []job{
	{name: "read 1 KB", times: 2000, calls: [2]func(int) call{read("read_file", "1k.txt"), read("read_text_file", "1k.txt")}, least: 1 << 10, goal: "≤ 1"},
	{name: "read 1 MB", times: 40, calls: [2]func(int) call{read("read_file", "1m.txt"), read("read_text_file", "1m.txt")}, least: 1 << 20, goal: "≤ 1"},
	{name: "read 9 MB", times: 10, calls: [2]func(int) call{read("read_file", "9m.txt"), read("read_text_file", "9m.txt")}, least: 9 << 20, goal: "≤ 1"},
	{
		name: "last 50 lines of 500 MB", times: 200, least: 3000, goal: "first time ≤ 30 ms",
		calls: [2]func(int) call{read("read_file", "500m.txt", "start_line", end-49, "end_line", end), read("read_text_file", "500m.txt", "tail", 50)},
	},
	{name: "first 50 lines of 500 MB", times: 200, calls: [2]func(int) call{read("read_file", "500m.txt", "start_line", 1, "end_line", 50), read("read_text_file", "500m.txt", "head", 50)}, least: 3000},
	{
		name: "50 lines from the middle of 500 MB", times: 200, least: 3000, note: "the other one has whole files, and a number of lines from the start or the end",
		calls: [2]func(int) call{read("read_file", "500m.txt", "start_line", middle, "end_line", middle+49), nil},
	},
	{name: "500 MB asked for whole", times: 1, calls: [2]func(int) call{nil, read("read_text_file", "500m.txt")}, least: 1},
	{name: "a line of 10 MB, its start", times: 20, calls: [2]func(int) call{read("Read", "line.txt"), read("read_text_file", "line.txt", "head", 1)}, least: 1000},
	{name: "write 4 KB", times: 300, calls: [2]func(int) call{write("backup", false), write()}, least: 10, goal: "≤ 1.3", note: "stet's are durable and recorded; the other one does not sync"},
}

func makeTree(tree string) error {
	if err := os.MkdirAll(tree, 0o755); err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"1k.txt": lines(1 << 10), "1m.txt": lines(1 << 20), "9m.txt": lines(9 << 20), "line.txt": bytes.Repeat([]byte("x"), 10<<20),
	} {
		if err := os.WriteFile(filepath.Join(tree, name), data, 0o644); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(tree, "500m.txt"))
	if err != nil {
		return err
	}
	for block := lines(1 << 20); err == nil; _, err = f.Write(block) {
		if at, _ := f.Seek(0, 1); at >= 500<<20 {
			break
		}
	}
	return errors.Join(err, f.Close())
}

// lines returns a text of size bytes, in lines of 64 bytes.
func lines(size int) []byte {
	line := []byte(strings.Repeat("some text ", 6) + "abc\n")
	return bytes.Repeat(line, size/len(line))
}

func (b *bench) all() error {
	if err := b.starts(); err != nil {
		return err
	}
	for _, s := range b.sides {
		var err error
		if s.server, err = start(s.start()); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	defer func() {
		for _, s := range b.sides {
			s.server.stop()
		}
	}()
	b.memory("memory after the start", "≤ 30 MB")
	for i, j := range jobs {
		if !measured(j.name) {
			continue
		}
		if err := b.do(j); err != nil {
			return err
		}
		if i == 0 {
			b.memory("memory after these reads", "")
		}
	}
	b.memory("memory at the end", "")
	return nil
}

func (s *side) start() *exec.Cmd {
	cmd := s.command()
	cmd.Stderr = nil
	return cmd
}

// starts measures the time from the start of the process to the first answer.
func (b *bench) starts() error {
	var took [2][]time.Duration
	for range 15 * *rounds {
		for i, s := range b.sides {
			cmd := s.start()
			cmd.Dir = b.tree
			began := time.Now()
			p, err := start(cmd)
			if err != nil {
				return fmt.Errorf("%s: start: %w", s.name, err)
			}
			took[i] = append(took[i], time.Since(began))
			p.stop()
		}
	}
	row("start, to the first answer", "≤ 20 ms", shown(took[0]), shown(took[1]), ratio(took), "")
	return nil
}

// do measures a job with both servers in turn.
func (b *bench) do(j job) error {
	var took [2][]time.Duration
	var said [2]string
	first := ""
	for n := range j.times * *rounds {
		for i, s := range b.sides {
			if j.calls[i] == nil || said[i] != "" {
				continue
			}
			c := j.calls[i](n)
			if i == 1 {
				c = b.absolute(c)
			}
			began := time.Now()
			line, err := s.server.call(c)
			t := time.Since(began)
			switch {
			case errors.Is(err, errNoAnswer):
				said[i] = fmt.Sprintf("no answer in %v", *limit)
			case err != nil && i == 0:
				return fmt.Errorf("%s: %s: %w", j.name, s.name, err)
			case err != nil:
				said[i] = "fails"
			case len(line) < j.least:
				return fmt.Errorf("%s: %s: %.300s", j.name, s.name, line)
			}
			if said[i] != "" {
				if err := b.again(s); err != nil {
					return err
				}
				continue
			}
			if n == 0 && i == 0 && t > 10*time.Millisecond {
				first = ", first time " + short(t)
			}
			took[i] = append(took[i], t)
		}
	}
	var cells [2]string
	for i := range cells {
		switch {
		case said[i] != "":
			cells[i] = said[i]
		case j.calls[i] == nil:
			cells[i] = "–"
		default:
			cells[i] = shown(took[i])
		}
	}
	row(j.name, j.goal, cells[0]+first, cells[1], ratio(took), j.note)
	return nil
}

// again restarts a server after a call without an answer.
func (b *bench) again(s *side) error {
	s.server.stop()
	var err error
	s.server, err = start(s.start())
	return err
}

// absolute makes the path of a call absolute, for a server without a root.
func (b *bench) absolute(c call) call {
	args := map[string]any{}
	for k, v := range c.args {
		args[k] = v
	}
	args["path"] = filepath.Join(b.tree, c.args["path"].(string))
	return call{c.tool, args}
}

func (b *bench) memory(what, goal string) {
	var now, own, most [2]float64
	for i, s := range b.sides {
		now[i], own[i], most[i] = s.server.memory()
	}
	cell := func(i int) string {
		return fmt.Sprintf("%.1f MB (%.1f without pages of files; at most %.1f)", now[i], own[i], most[i])
	}
	row(what, goal, cell(0), cell(1), fmt.Sprintf("%.2f", now[0]/now[1]), "")
}

func row(name, goal, stet, node, ratio, note string) {
	if note != "" {
		name += " (" + note + ")"
	}
	line{name, stet, node, "the official Node server", ratio, goal}.print()
}

func median(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}

func shown(d []time.Duration) string { return short(median(d)) }

func short(d time.Duration) string { return fmt.Sprintf("%.3g ms", float64(d.Nanoseconds())/1e6) }

func ratio(took [2][]time.Duration) string {
	if len(took[0]) == 0 || len(took[1]) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", float64(median(took[0]))/float64(median(took[1])))
}

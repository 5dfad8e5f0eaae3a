package dialect

import (
	"iter"
	"path"
	"strconv"
	"strings"
)

// source returns what a command that names its files prints, or nil.
func source(words []string) []excerpt {
	opts, files := words[1:], []string(nil)
	for len(opts) > 0 && !strings.HasPrefix(opts[len(opts)-1], "-") {
		files = append([]string{opts[len(opts)-1]}, files...)
		opts = opts[:len(opts)-1]
	}
	switch words[0] {
	case "cat", "nl":
		numbered := words[0] == "cat" && len(opts) == 1 && opts[0] == "-n" ||
			words[0] == "nl" && (len(opts) == 1 && (opts[0] == "-ba" || opts[0] == "-b a"))
		if words[0] == "nl" && len(opts) == 1 && opts[0] == "-b" && len(files) == 2 && files[0] == "a" {
			files, numbered = files[1:], true
		}
		if len(files) != 1 || !numbered && (words[0] == "nl" || len(opts) > 0) {
			return nil
		}
		return []excerpt{{path: clean(files[0]), first: 1, numbered: numbered}}
	case "head", "tail", "sed":
		if len(words) < 3 {
			return nil
		}
		name := words[len(words)-1]
		if strings.HasPrefix(name, "-") {
			return nil
		}
		excerpts, ok := filter(excerpt{path: clean(name), first: 1}, words[:len(words)-1])
		if !ok {
			return nil
		}
		return excerpts
	}
	return nil
}

func clean(name string) string {
	if strings.HasPrefix(name, "./") {
		return path.Clean(name)
	}
	return name
}

// filter returns what is left of a excerpt that goes through head, tail, sed or
// cat.
func filter(p excerpt, words []string) ([]excerpt, bool) {
	if p.tail > 0 {
		return nil, false
	}
	args := words[1:]
	switch words[0] {
	case "cat":
		return []excerpt{p}, len(args) == 0
	case "head", "tail":
		if words[0] == "head" && len(args) == 0 {
			args = []string{"-10"}
		}
		n, sign, ok := count(args)
		switch {
		case !ok || n <= 0:
			return nil, false
		case words[0] == "head" && sign == 0:
			return p.window(1, n)
		case words[0] == "tail" && sign == '+':
			return p.window(n, 0)
		case words[0] == "tail" && sign == 0:
			if !p.numbered && (p.first != 1 || p.last != 0) {
				return nil, false
			}
			p.tail, p.first, p.last = n, 0, 0
			return []excerpt{p}, true
		}
	case "sed":
		return p.sed(args)
	}
	return nil, false
}

// count reads the arguments -n 5, -n5, -5, -n +5 and the like.
func count(args []string) (n int, sign byte, ok bool) {
	s := ""
	switch {
	case len(args) == 1 && strings.HasPrefix(args[0], "-n"):
		s = args[0][2:]
	case len(args) == 1 && strings.HasPrefix(args[0], "-"):
		s = args[0][1:]
	case len(args) == 1 && strings.HasPrefix(args[0], "+"):
		s = args[0]
	case len(args) == 2 && args[0] == "-n":
		s = args[1]
	}
	if strings.HasPrefix(s, "+") {
		sign, s = '+', s[1:]
	}
	n, err := strconv.Atoi(s)
	return n, sign, err == nil && s[0] >= '0' && s[0] <= '9' && n < 1<<30
}

// window returns lines a to b of what p prints; b 0 is to the end.
func (p excerpt) window(a, b int) ([]excerpt, bool) {
	base, end := p.first, p.last
	p.first = base + a - 1
	if b > 0 {
		p.last = base + b - 1
	}
	if end > 0 && (p.last == 0 || p.last > end) {
		p.last = end
	}
	if p.last > 0 && p.last < p.first {
		return nil, false
	}
	return []excerpt{p}, true
}

// sed reads sed -n with ranges to print: 'a,bp', 'ap', 'a,$p', several of them
// in ascending order, separated by semicolons or each after -e.
func (p excerpt) sed(args []string) ([]excerpt, bool) {
	if len(args) < 2 || args[0] != "-n" {
		return nil, false
	}
	var scripts []string
	if args = args[1:]; len(args) == 1 {
		scripts = strings.Split(args[0], ";")
	} else {
		for len(args) >= 2 && args[0] == "-e" {
			scripts = append(scripts, args[1])
			args = args[2:]
		}
		if len(args) > 0 {
			return nil, false
		}
	}
	var out []excerpt
	for _, s := range scripts {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		s, ok := strings.CutSuffix(s, "p")
		if !ok || len(out) > 0 && out[len(out)-1].last == 0 {
			return nil, false
		}
		from, to, both := strings.Cut(s, ",")
		a, err := strconv.Atoi(strings.TrimSpace(from))
		b := a
		if to = strings.TrimSpace(to); both && to == "$" {
			b = 0
		} else if both && err == nil {
			b, err = strconv.Atoi(to)
		}
		if err != nil || a < 1 || b < 0 || b > 0 && b < a || b > 1<<30 || a > 1<<30 {
			return nil, false
		}
		w, ok := p.window(a, b)
		if !ok || len(out) > 0 && w[0].first <= out[len(out)-1].last {
			return nil, false
		}
		out = append(out, w...)
	}
	return out, len(out) > 0
}

// separable reports whether what the excerpts print can be told apart where each
// prints all that it was asked for: between two rules at most ranges with both
// ends, or lines with numbers.
func separable(excerpts []excerpt) bool {
	files := 0
	for run := range runs(excerpts) {
		files += len(run)
		for i, p := range run {
			if len(run) == 1 {
				break
			}
			if p.tail > 0 || p.numbered != run[0].numbered {
				return false
			}
			open := p.last == 0
			if open && !p.numbered && !(i == len(run)-1 && sameFile(run)) {
				return false
			}
		}
	}
	return files > 0
}

// runs yields the excerpts between the rules. There is one more run than rules;
// it may be empty.
func runs(excerpts []excerpt) iter.Seq[[]excerpt] {
	return func(yield func([]excerpt) bool) {
		begin := 0
		for i, p := range excerpts {
			if p.rule != "" {
				if !yield(excerpts[begin:i]) {
					return
				}
				begin = i + 1
			}
		}
		yield(excerpts[begin:])
	}
}

func sameFile(excerpts []excerpt) bool {
	for _, p := range excerpts {
		if p.path != excerpts[0].path {
			return false
		}
	}
	return true
}

package dialect

import (
	"strings"
	"testing"
)

// seeds adds calls and results in every form.
func seeds(add func(name, args, text string)) {
	f := written{[]string{"one", "", "\tthree"}, true}
	for _, s := range renderers {
		add(s.show(f, 0, 0))
		if s.ranges {
			add(s.show(f, 2, 3))
		}
	}
	for _, text := range []string{
		"📄 a (lines 1-1/1)\n1→x\n\n❌ b: no", "--- a ---\n\nx\n\n--- End of content ---", "a:\nx\n\n---\nb:\ny\n",
		`[{"query":"a","result":"1 | x","success":true},{"result":"","success":false}]`, "<path>a</path>\n<content>\n1: x", "Error: x", "[stet: a lines 1-2 x]",
	} {
		add("filesystem-read", `{"filePath":["a",{"path":"b","startLine":1}]}`, text)
		add("read_files", `{"files":[{"path":"a"},{"path":"b"}]}`, text)
		add("read_multiple_files", `{"paths":["a","b"]}`, text)
		add("exec_command", `{"cmd":"sed -n '1,2p' a; sed -n '1,2p' b"}`, codexHead+text)
	}
	add("bash", `{"command":"cat a; sed -n 1p c"}`, "x\n---\ny\n---\nz\nw\n")
	add("apply_patch", "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch", "Success.")
	add("tool_call", `{"name":"read","arguments":"{\"path\":\"a\"}"}`, "x")
	add("exec", "const r = await tools.exec_command({cmd:\"cat a\"}); text(r.output)", "Script completed\nOutput:\n\nx")
}

// No call and no result makes the table panic, and what it returns for a result is consistent.
func FuzzResult(f *testing.F) {
	seeds(func(name, args, text string) { f.Add(name, args, text, false) })
	f.Fuzz(func(t *testing.T, name, args, text string, isError bool) {
		a := Default().Action(name, args)
		checkConsistent(t, a, text, Default().Result(a, text, isError), isError)
		if r, ok := Default().ByContent(text); ok {
			checkConsistent(t, Action{Op: Read}, text, r, false)
		}
	})
}

func checkConsistent(t *testing.T, a Action, text string, r Result, isError bool) {
	t.Helper()
	if isError && !r.Failed {
		t.Fatal("the flag is ignored")
	}
	if a.Op != Read && a.Op != List && len(r.Sections) > 0 {
		t.Fatalf("op %d has sections", a.Op)
	}
	at := 0
	for i, s := range r.Sections {
		if s.Start < at || s.End < s.Start || s.End > len(text) {
			t.Fatalf("section %d at %d-%d of %d, after %d", i, s.Start, s.End, len(text), at)
		}
		at = s.End
		if s.First > maxLine || s.Said < 0 || s.Final != FinalUnknown && s.Cut && s.Said == 0 {
			t.Fatalf("section %d: first %d, said %d, final %d, cut %v", i, s.First, s.Said, s.Final, s.Cut)
		}
		if s.First < 0 || s.Total < 0 || len(s.Lines) > strings.Count(text, "\n")+strings.Count(text, `\n`)+strings.Count(text, `\u000a`)+strings.Count(text, `\u000A`)+1 {
			t.Fatalf("section %d: first %d, total %d, %d lines", i, s.First, s.Total, len(s.Lines))
		}
		if s.Failed && len(s.Lines) > 0 || s.Unchanged && len(s.Lines) > 0 {
			t.Fatalf("section %d failed or is unchanged and has lines: %+v", i, s)
		}
		for _, l := range s.Lines {
			if strings.Contains(l, "\n") {
				t.Fatalf("section %d: a line with a line end: %q", i, l)
			}
		}
		if last := s.First + len(s.Lines) - 1; s.Total > 0 && len(s.Lines) > 0 && s.First > 0 && last > s.Total && !s.Cut && a.Row != "swe-agent/open" {
			t.Logf("section %d: line %d of %d", i, last, s.Total) // a result may contradict itself
		}
	}
}

// The values that object and array return are the parts of the input.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"a":"\ud83d\ude00\u00","b":[1,{"c":"]"}]}`, `[1,"x",null]`, `{a:"x"}`, `{"a":"\\"}`, `{`, `{"a"`, `{,}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, _ := object(s)
		for _, m := range o {
			if !strings.Contains(s, m.val) || m.val == "" {
				t.Fatalf("%q is no part of %q", m.val, s)
			}
			scalar(m.val)
			num(m.val)
		}
		l, _ := array(s)
		for _, v := range l {
			if !strings.Contains(s, v) || v == "" {
				t.Fatalf("%q is no part of %q", v, s)
			}
		}
	})
}

package workspace

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// naive is a page of a text as one would write it down: all lines, then the
// ones that are wanted.
func naive(text string, q PageRequest) (lines []Line, total int) {
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	for i := q.Line - 1; i < len(all) && len(lines) < q.Lines; i++ {
		l := Line{Number: i + 1, Column: 1}
		body, ok := strings.CutSuffix(all[i], "\n")
		if ok {
			l.End = "\n"
			if b, ok := strings.CutSuffix(body, "\r"); ok {
				body, l.End = b, "\r\n"
			}
		}
		runes := []rune(body)
		if i == q.Line-1 {
			l.Column = q.Column
			runes = runes[q.Column-1:]
		}
		if q.Width >= 0 && len(runes) > q.Width {
			runes, l.More, l.End = runes[:q.Width], l.Column+q.Width, ""
		}
		l.Text = string(runes)
		lines = append(lines, l)
	}
	return lines, len(all)
}

// TestPagesAgainstNaiveReader: from memory, from the file, with an index that
// is known and one that is not.
func TestPagesAgainstNaiveReader(t *testing.T) {
	t.Parallel()
	tr := newTree(t, Options{})
	piece := rapid.SampledFrom([]string{"\n", "\n", "\r\n", "\r", "a", "ä", "你", "😀", "word ", strings.Repeat("x", 70_000), strings.Repeat("ab\n", 30_000), strings.Repeat("é", 40_000), strings.Repeat("\n", 66_000)})
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(rt, "text"), "")
		if rapid.IntRange(0, 3).Draw(rt, "large") == 0 {
			text += strings.Repeat("some line\n", 110_000) + text
		}
		n++
		name := fmt.Sprint("f", n%4)
		tr.put(name, text)
		for range 3 {
			q := PageRequest{
				Line: rapid.IntRange(1, max(1, strings.Count(text, "\n")+1)).Draw(rt, "line"), Lines: rapid.IntRange(1, 700).Draw(rt, "lines"),
				Width: rapid.SampledFrom([]int{-1, 1, 5, 2000}).Draw(rt, "width"), Column: 1, Bytes: 10 * mb,
			}
			compare(rt, tr, name, text, q)
		}
	})
}

func compare(t *rapid.T, tr *tree, name, text string, q PageRequest) {
	all := strings.SplitAfter(text, "\n")
	if q.Line <= len(all) {
		body := strings.TrimSuffix(strings.TrimSuffix(all[q.Line-1], "\n"), "\r")
		if strings.HasSuffix(all[q.Line-1], "\n") || !strings.HasSuffix(all[q.Line-1], "\r") {
			q.Column = rapid.IntRange(1, utf8.RuneCountInString(body)+1).Draw(t, "column")
		}
	}
	p, err := tr.Root.Path(name)
	if err != nil {
		t.Fatal(err)
	}
	pg, err := tr.Page(context.Background(), p, q)
	want, total := naive(text, q)
	if q.Line > max(total, 1) {
		if !errors.Is(err, ErrRange) {
			t.Fatalf("line %d of %d: %v", q.Line, total, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if pg.Total != total || len(pg.Lines) != len(want) {
		t.Fatalf("%d lines of %d, want %d of %d", len(pg.Lines), pg.Total, len(want), total)
	}
	for i := range want {
		if pg.Lines[i] != want[i] {
			t.Fatalf("line %d: got %s, want %s", want[i].Number, shortLine(pg.Lines[i]), shortLine(want[i]))
		}
	}
	next := q.Line + len(want)
	if next > total {
		next = 0
	}
	if pg.Next != next {
		t.Fatalf("next %d, want %d", pg.Next, next)
	}
	if len(text) <= small && pg.Version != VersionOf([]byte(text)) {
		t.Fatal("another version")
	}
}

func shortLine(l Line) string {
	return fmt.Sprintf("%d:%d %q (%d) %q %d", l.Number, l.Column, short(l.Text), len(l.Text), l.End, l.More)
}

// TestPageEnds: the end of the file, the empty file, lines past the end. (READ-8)
func TestPageEnds(t *testing.T) {
	tr := newTree(t, Options{})
	ctx := context.Background()
	tr.put("empty", "")
	tr.put("mark", "\xef\xbb\xbf")
	tr.put("three", "1\n2\n3")
	for _, s := range []string{"empty", "mark"} {
		pg, err := tr.Page(ctx, tr.path(s), PageRequest{})
		if err != nil || len(pg.Lines) != 0 || pg.Total != 0 || !pg.Complete() {
			t.Errorf("%s: %+v, %v", s, pg, err)
		}
		_, err = tr.Page(ctx, tr.path(s), PageRequest{Line: 2})
		wantErr(t, s, err, ErrRange)
	}
	_, err := tr.Page(ctx, tr.path("three"), PageRequest{Line: 4})
	var e *Error
	if wantErr(t, "past the end", err, ErrRange); !errors.As(err, &e) || e.Lines != 3 {
		t.Errorf("%+v", e)
	}
	pg, err := tr.Page(ctx, tr.path("three"), PageRequest{Line: 2})
	if err != nil || !pg.Complete() || len(pg.Lines) != 2 { // READ-6
		t.Errorf("%+v, %v", pg, err)
	}
	pg, err = tr.Page(ctx, tr.path("three"), PageRequest{Lines: 2})
	if err != nil || pg.Complete() || pg.Next != 3 {
		t.Errorf("%+v, %v", pg, err)
	}
	for _, q := range []PageRequest{{Line: -1}, {Lines: -1}, {Column: -5}, {Width: -2}, {Column: 3}} {
		_, err := tr.Page(ctx, tr.path("three"), q)
		wantErr(t, fmt.Sprint(q), err, ErrRange)
	}
}

// TestLongLineInColumns: a line of 10 MB is cut and can be paged through, and
// what comes together is the line. (READ-1)
func TestLongLineInColumns(t *testing.T) {
	tr := newTree(t, Options{})
	line := strings.Repeat("0123456789", mb/2) + strings.Repeat("ü你", mb/2)
	tr.put("f", "first\n"+line+"\nlast\n")
	var got strings.Builder
	column := 1
	for n := 0; column > 0; n++ {
		pg, err := tr.Page(context.Background(), tr.path("f"), PageRequest{Line: 2, Lines: 1, Column: column, Width: 400_000, Bytes: 10 * mb})
		if err != nil || n > 30 || pg.Total != 3 || pg.Next != 3 {
			t.Fatal(err, n, pg.Total)
		}
		got.WriteString(pg.Lines[0].Text)
		column = pg.Lines[0].More
	}
	if got.String() != line {
		t.Errorf("%d bytes came together, of %d", got.Len(), len(line))
	}
	// The page's own bound cuts too, and says so.
	pg, err := tr.Page(context.Background(), tr.path("f"), PageRequest{Line: 2, Width: -1, Bytes: 1000})
	if err != nil || len(pg.Lines) != 1 || len(pg.Lines[0].Text) != 1000 || pg.Lines[0].More != 1001 {
		t.Errorf("%v, %v", len(pg.Lines), err)
	}
	pg, err = tr.Page(context.Background(), tr.path("f"), PageRequest{Width: -1, Bytes: 6})
	if err != nil || len(pg.Lines) != 1 || pg.Next != 2 {
		t.Errorf("%v, %v", len(pg.Lines), err)
	}
}

// TestSparseTerabytes: the page, in bounded memory. (FILE-8, READ-4)
func TestSparseTerabytes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("holes are read like data here")
	}
	tr := newTree(t, Options{})
	tr.put("sparse", "one\ntwo\n")
	f, err := os.OpenFile(tr.abs("sparse"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// The first 8 KB must not hold a NUL.
	if _, err := f.WriteAt([]byte(strings.Repeat("line\n", 2000)), 8); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("\nfar away\n"), 4<<40); err != nil {
		t.Skip("no sparse files of this size here:", err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	pg, err := tr.Page(context.Background(), tr.path("sparse"), PageRequest{Line: 2001, Lines: 10})
	if err != nil || pg.Total != 2004 || len(pg.Lines) != 4 || pg.Lines[1].Text != "line" {
		t.Fatalf("total %d, %d lines, %v", pg.Total, len(pg.Lines), err)
	}
	if l := pg.Lines[2]; l.More != 2001 || len(l.Text) != 2000 {
		t.Errorf("the hole: %d characters, more at %d", len(l.Text), l.More)
	}
	if l := pg.Lines[3]; l.Text != "far away" || l.Number != 2004 {
		t.Errorf("behind the hole: %+v", l)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 60*mb {
		t.Errorf("%d MB for a page", used/mb)
	}
}

// TestTotalUnknown: where counting takes too long the page comes without the
// total, and the next one goes on from what was counted. (READ-4)
func TestTotalUnknown(t *testing.T) {
	t.Parallel() // it waits for the file to settle
	tr := newTree(t, Options{CountTime: time.Nanosecond})
	text := strings.Repeat("a line\n", mb)
	tr.put("f", text)
	settle(t, tr.abs("f"))
	pg, err := tr.Page(context.Background(), tr.path("f"), PageRequest{Line: 10, Lines: 3})
	if err != nil || pg.Total != -1 || pg.AtLeast < 9 || pageText(pg) != "a line\na line\na line\n" || pg.Next != 13 {
		t.Fatalf("total %d, at least %d, %q, next %d, %v", pg.Total, pg.AtLeast, pageText(pg), pg.Next, err)
	}
	pg, err = tr.Page(context.Background(), tr.path("f"), PageRequest{Line: mb, Lines: 3})
	if err != nil || len(pg.Lines) != 1 {
		t.Fatalf("%d lines, %v", len(pg.Lines), err)
	}
	_, err = tr.Page(context.Background(), tr.path("f"), PageRequest{Line: mb + 1})
	wantErr(t, "past the end", err, ErrRange)
	// A page that asks for no total does not count on. (ranged reads stop early)
	tr2 := newTree(t, Options{})
	tr2.put("f", text)
	pg, err = tr2.Page(context.Background(), tr2.path("f"), PageRequest{Line: 10, Lines: 3, NoTotal: true})
	if err != nil || pg.Total != -1 || pg.AtLeast > mb/2 || len(pg.Lines) != 3 {
		t.Errorf("total %d, at least %d, %v", pg.Total, pg.AtLeast, err)
	}
}

// TestWideIndex: a file with more marks than an index may have gets a wider
// step, and lines are still found.
func TestWideIndex(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	b := make([]byte, 4*mb)
	for i := range b {
		b[i] = "ab\n\n"[rng.Intn(4)]
	}
	x := lineIndex{step: stride}
	tx := &text{at: memory(b), size: int64(len(b)), nl: "\n"}
	buf := make([]byte, block)
	if err := x.scan(context.Background(), tx, 1<<62, time.Time{}, buf); err != nil {
		t.Fatal(err)
	}
	y := lineIndex{step: 4 * stride}
	if err := y.scan(context.Background(), tx, 1<<62, time.Time{}, buf); err != nil {
		t.Fatal(err)
	}
	var feeds []int64
	for i, c := range b {
		if c == '\n' {
			feeds = append(feeds, int64(i))
		}
	}
	if x.feeds != int64(len(feeds)) || y.feeds != x.feeds {
		t.Fatalf("%d and %d feeds of %d", x.feeds, y.feeds, len(feeds))
	}
	for range 200 {
		k := rng.Intn(len(feeds))
		for _, idx := range []*lineIndex{&x, &y} {
			c := cursor{x: idx, t: tx, buf: buf[:stride]}
			if at, err := c.seek(context.Background(), int64(k+1)); err != nil || at != feeds[k] {
				t.Fatalf("feed %d at %d, want %d, %v", k+1, at, feeds[k], err)
			}
		}
	}
	for size, step := range map[int64]int64{0: stride, 64 << 30: stride, 65 << 30: 2 * stride, 16 << 40: 256 * stride} {
		if got := stepFor(size); got != step {
			t.Errorf("%d bytes: step %d, want %d", size, got, step)
		}
	}
}

// TestUnstableReads: a file that is rewritten all the time. What ReadAll and
// Page call stable is one of the versions, whole, however equal the times are.
func TestUnstableReads(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put("f", version(0))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		f, err := os.OpenFile(tr.abs("f"), os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			v := version(i)
			// In two steps, so that a reader can come between.
			_, _ = f.WriteAt([]byte(v[:len(v)/2]), 0)
			_, _ = f.WriteAt([]byte(v[len(v)/2:]), int64(len(v)/2))
		}
	})
	torn, unstable, whole := 0, 0, 0
	// Until something was noticed, which takes long where the writer seldom
	// gets a turn.
	until, last := time.Now().Add(300*time.Millisecond), time.Now().Add(20*time.Second)
	for time.Now().Before(until) || unstable == 0 && time.Now().Before(last) {
		c, err := tr.ReadAll(context.Background(), tr.path("f"))
		if err != nil {
			t.Error(err)
			break
		}
		switch s := string(c.Data); {
		case c.Unstable:
			unstable++
		case !oneMoment(s):
			torn++
		default:
			whole++
		}
	}
	close(stop)
	wg.Wait()
	t.Logf("%d whole, %d said to be unstable, %d torn without a word", whole, unstable, torn)
	// A writer that is stopped in the middle of a write leaves a file that is
	// as it is, for as long as that takes.
	if unstable == 0 || torn > (whole+unstable)/4 {
		t.Error("it goes unnoticed")
	}
}

// oneMoment reports whether the file ever was so: one version, or the first
// half of the one after.
func oneMoment(s string) bool {
	a, b := s[:len(s)/2], s[len(s)/2:]
	if strings.Count(a, a[:5]) != len(a)/5 || strings.Count(b, b[:5]) != len(b)/5 {
		return false
	}
	i, _ := strconv.Atoi(a[:4])
	j, _ := strconv.Atoi(b[:4])
	return i == j || i == (j+1)%10_000
}

// version is 100 KB that all say the same.
func version(i int) string { return strings.Repeat(fmt.Sprintf("%04d\n", i%10_000), 20_000) }

// TestTruncatedWhileRead: no panic, no hang, an error or a marked page.
func TestTruncatedWhileRead(t *testing.T) {
	tr := newTree(t, Options{})
	text := strings.Repeat("a line of text\n", 200_000)
	tr.put("f", text)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_ = os.Truncate(tr.abs("f"), int64(i%2*len(text)))
			}
		}
	})
	for i := range 200 {
		_, err := tr.Page(context.Background(), tr.path("f"), PageRequest{Line: 1 + i*500%100_000})
		if err != nil && !errors.Is(err, ErrRange) && !errors.Is(err, ErrChanged) && !errors.Is(err, ErrBinary) {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
}

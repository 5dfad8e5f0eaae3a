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

	"github.com/stet-dev/stet/internal/limits"
)

// naive makes a page in the simplest way: it splits the text into all lines, and selects the wanted ones.
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

// TestPagesAgainstNaiveReader compares pages from memory, pages from the file, and pages with and without a cached index.
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
	if len(text) <= wholeLimit && pg.Version != VersionOf([]byte(text)) {
		t.Fatal("another version")
	}
}

func shortLine(l Line) string {
	return fmt.Sprintf("%d:%d %q (%d) %q %d", l.Number, l.Column, limits.Shorten(l.Text, 200), len(l.Text), l.End, l.More)
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

// TestLongLineInColumns reads a line of 10 MB in pieces. The pieces together are the line. (READ-1)
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
	// The byte limit of the page also cuts the line, and the page says so.
	pg, err := tr.Page(context.Background(), tr.path("f"), PageRequest{Line: 2, Width: -1, Bytes: 1000})
	if err != nil || len(pg.Lines) != 1 || len(pg.Lines[0].Text) != 1000 || pg.Lines[0].More != 1001 {
		t.Errorf("%v, %v", len(pg.Lines), err)
	}
	pg, err = tr.Page(context.Background(), tr.path("f"), PageRequest{Width: -1, Bytes: 6})
	if err != nil || len(pg.Lines) != 1 || pg.Next != 2 {
		t.Errorf("%v, %v", len(pg.Lines), err)
	}
}

// TestSparseTerabytes reads a page of a huge sparse file in bounded memory. (FILE-8, READ-4)
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

// TestTotalUnknown checks that a page has no total if counting takes too long. The next page continues counting from there.
// (READ-4)
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
}

// TestWideIndex checks that a file with too many marks for an index gets a larger step. Its lines are still found.
func TestWideIndex(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	b := make([]byte, 4*mb)
	for i := range b {
		b[i] = "ab\n\n"[rng.Intn(4)]
	}
	x := lineIndex{step: stride}
	tx := &text{at: memory(b), size: int64(len(b)), nl: "\n"}
	buf := make([]byte, block)
	if err := x.scan(context.Background(), tx, 1<<62, nil, buf); err != nil {
		t.Fatal(err)
	}
	y := lineIndex{step: 4 * stride}
	if err := y.scan(context.Background(), tx, 1<<62, nil, buf); err != nil {
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

// TestUnstableReads reads a file that another program rewrites continuously, from its beginning to its end. If ReadAll
// calls a content stable, the file had this content at one moment: the beginning of one version and the rest of the
// previous one. This must be so even if the file's times are equal.
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
			// In two steps, so that a reader can read between them.
			_, _ = f.WriteAt([]byte(v[:len(v)/2]), 0)
			_, _ = f.WriteAt([]byte(v[len(v)/2:]), int64(len(v)/2))
		}
	})
	stable, unstable := 0, 0
	for until := time.Now().Add(300 * time.Millisecond); time.Now().Before(until) || stable+unstable == 0; {
		c, err := tr.ReadAll(context.Background(), tr.path("f"))
		switch {
		case err != nil:
			t.Error(err)
		case c.Unstable:
			unstable++
		case !oneMoment(string(c.Data)):
			t.Errorf("torn without a word: %q", versionsIn(string(c.Data)))
		default:
			stable++
		}
		if t.Failed() {
			break
		}
	}
	close(stop)
	wg.Wait()
	t.Logf("%d stable, %d said to be unstable", stable, unstable)
}

// If a file is rewritten during each read of it, the reader says that the content is unstable.
func TestUnstableIsSaid(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put("f", version(0))
	n := 0
	rewriting := &everyErr{t.Context(), func() {
		n++
		tr.put("f", version(n))
	}}
	if c, err := tr.ReadAll(rewriting, tr.path("f")); err != nil || !c.Unstable {
		t.Errorf("ReadAll: unstable is %v after %d changes, %v", c.Unstable, n, err)
	}
	if p, err := tr.Page(rewriting, tr.path("f"), PageRequest{}); err != nil || !p.Unstable {
		t.Errorf("Page: unstable is %v after %d changes, %v", p.Unstable, n, err)
	}
}

// everyErr is a context that calls a function each time its Err is called. Readers call Err before each block.
type everyErr struct {
	context.Context
	do func()
}

func (e *everyErr) Err() error {
	e.do()
	return e.Context.Err()
}

// oneMoment reports whether the file ever had the content s.
func oneMoment(s string) bool {
	seen := versionsIn(s)
	switch len(seen) {
	case 1:
		return true
	case 2:
		i, _ := strconv.Atoi(seen[0][:4])
		j, _ := strconv.Atoi(seen[1][:4])
		return i == (j+1)%10_000
	}
	return false
}

// versionsIn returns the versions that s contains, in their order. A piece at the border of two versions counts as either.
func versionsIn(s string) []string {
	var seen []string
	for i := 0; i+5 <= len(s); i += 5 {
		piece := s[i : i+5]
		if len(seen) == 0 || seen[len(seen)-1] != piece {
			seen = append(seen, piece)
		}
	}
	if len(seen) == 3 { // a border may be inside of a piece
		for cut := range 5 {
			if seen[1] == seen[0][:cut]+seen[2][cut:] {
				return []string{seen[0], seen[2]}
			}
		}
	}
	return seen
}

// version returns 100 KB that repeat the number i.
func version(i int) string { return strings.Repeat(fmt.Sprintf("%04d\n", i%10_000), 20_000) }

// TestTruncatedWhileRead checks that truncating a file during a read gives an error or an unstable page, without a panic or
// a hang.
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

// TestCountingTime checks that lines after a page are counted for 2 s by default. The clock advances by a quarter of a
// second with each block. (READ-4)
func TestCountingTime(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put("f", strings.Repeat("a line\n", mb))
	var now time.Time
	tr.seams.now = func() time.Time {
		now = now.Add(250 * time.Millisecond)
		return now
	}
	pg, err := tr.Page(context.Background(), tr.path("f"), PageRequest{Lines: 3})
	if err != nil {
		t.Fatal(err)
	}
	const blocks = 8 // blocks that are counted in 2 s
	if want := blocks * block / len("a line\n"); pg.Total != -1 || pg.AtLeast != want {
		t.Errorf("total %d, at least %d, want at least %d", pg.Total, pg.AtLeast, want)
	}
}

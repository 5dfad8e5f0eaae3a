package filetools

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/tool"
)

// The tool search_text, and how long a pattern may be matched.

var searchTextTool = &toolDef{
	name: "search_text", readOnly: true, plan: planSearchText,
	params: params{
		{name: "pattern", typ: "string", required: true},
		{name: "regexp", typ: "boolean", about: "pattern is RE2, not literal"},
		{name: "ignore_case", typ: "boolean"},
		{name: "path", typ: "string", about: "directory or file", def: `"."`},
		{name: "glob", typ: "string", about: "only files that match"},
		{name: "context", typ: "integer", about: "lines around", max: 20, hasMin: true, quiet: true},
		{name: "limit", typ: "integer", about: "matches", def: "100", min: 1, max: 1000, hasMin: true, quiet: true},
		{name: "ignored", typ: "boolean"},
	},
}

const (
	maxPattern = 1000 // bytes
	maxShown   = 300  // bytes of a line
	maxSearch  = 20 * time.Second

	maxSearched = 10 << 20 // bytes of a file
)

// search is one search under way.
type search struct {
	q       *toolCall
	ctx     context.Context
	re      *regexp.Regexp
	size    int    // of re's program
	needed  string // a text that is in every match; empty: none is known
	byLine  bool   // a part of the pattern matches at an end of the text only (\A, \z), so that each line has to be matched alone
	across  bool   // the pattern has a line end, so that a match may go over several lines
	returns bool   // the pattern has a CR, so that CRLF does not count as LF
	spaces  bool   // the pattern has a class that has the line end among others, as \s does
	context int
	limit   int

	out   strings.Builder
	steps int  // since the search looked whether it has to end
	over  bool // it has to end

	matches  int
	files    int
	searched int // files, with those in which nothing was found
	skipped  skipped
	more     bool
	none     string // added to the note that the glob matches no file

	memory []byte // of the file read last
}

// planSearchText is search_text.
func planSearchText(ctx context.Context, q *toolCall) (*tool.Plan, error) {
	s := search{q: q, ctx: ctx, context: q.args.num("context", 0), limit: q.args.num("limit", 100)}
	err := s.compile(q.args)
	if err != nil {
		return nil, err
	}
	matches := func(string, workspace.Path) bool { return true }
	if q.args.has("glob") {
		if matches, err = q.glob("glob"); err != nil {
			return nil, err
		}
	}
	t, err := q.inspected()
	if err != nil {
		return nil, err
	}
	if t.Kind != workspace.Directory {
		if !matches(q.canonical, t.Path) && !matches(path.Base(q.canonical), t.Path) {
			return s.done(nil)
		}
		// Of a file that was named, a failure is said.
		err := s.file(t.Path, true, func() (io.ReadCloser, workspace.Info, error) { return q.root.Stream(t.Path) })
		return s.done(err)
	}
	err = q.walk(ctx, t.Path, 0, &s.skipped, func(e workspace.Entry) error {
		name := e.Path.String()
		switch {
		case !matches(name, t.Path):
			return nil
		case e.Kind == workspace.Directory && q.args.has("glob"):
			s.none = matchesDirectory(name)
			return nil
		case e.Kind != workspace.File:
			return nil
		case q.secret(name):
			s.skipped.add(name, "it may hold keys or passwords; to read it, name it")
			return nil
		}
		return s.file(e.Path, false, e.Stream)
	})
	return s.done(err)
}

// compile takes the pattern from the arguments.
func (s *search) compile(args values) error {
	pattern := args.str("pattern")
	switch {
	case pattern == "":
		return badArgument("pattern", "it is empty.")
	case len(pattern) > maxPattern:
		return badArgument("pattern", "it has more than %d bytes.", maxPattern)
	}
	if !args.flag("regexp", false) {
		composed, decomposed := norm.NFC.String(pattern), norm.NFD.String(pattern)
		if pattern = regexp.QuoteMeta(pattern); composed != decomposed {
			pattern = "(?:" + pattern + "|" + regexp.QuoteMeta(composed) + "|" + regexp.QuoteMeta(decomposed) + ")"
		}
	}
	flags := "(?m)"
	if args.flag("ignore_case", false) {
		flags = "(?mi)"
	}
	tree, err := syntax.Parse(flags+pattern, syntax.Perl)
	if err == nil {
		if s.size = programSize(tree); s.size > maxProgram {
			return badArgument("pattern", "it is too large with its repetitions; write fewer of them.")
		}
		s.re, err = regexp.Compile(flags + pattern)
	}
	var wrong *syntax.Error
	if errors.As(err, &wrong) && wrong.Code == syntax.ErrInvalidRepeatSize {
		return badArgument("pattern", "the repetition %s is not from a smaller number to a larger one, or is more than 1000 in all.", wrong.Expr)
	}
	if err != nil {
		return badArgument("pattern", "%s. The syntax is RE2, without look-around and back references.", strings.Replace(strings.TrimPrefix(err.Error(), "error parsing regexp: "), flags, "", 1))
	}
	s.needed = policy.RequiredText(s.re)
	s.byLine, s.across, s.returns = bindsToText(tree), names(tree, '\n'), names(tree, '\r')
	s.spaces = hasClass(tree, '\n')
	if s.byLine && s.across {
		return badArgument("pattern", `\A and \z are the ends of a line here, and the pattern goes over several lines; write ^ and $.`)
	}
	return nil
}

// names reports whether a pattern has a line end, c, on purpose. A class that also has the space, as \s and [^"] do, is about
// the characters of a line.
func names(t *syntax.Regexp, c rune) bool {
	switch t.Op {
	case syntax.OpAnyChar:
		return c == '\n'
	case syntax.OpLiteral:
		return slices.Contains(t.Rune, c)
	case syntax.OpCharClass:
		all := len(t.Rune) == 2 && has(t.Rune, 0) && has(t.Rune, utf8.MaxRune) // [\s\S]
		return has(t.Rune, c) && !has(t.Rune, ' ') || all && c == '\n'
	}
	return slices.ContainsFunc(t.Sub, func(sub *syntax.Regexp) bool { return names(sub, c) })
}

// hasClass reports whether a pattern has a class with a character.
func hasClass(t *syntax.Regexp, c rune) bool {
	return t.Op == syntax.OpCharClass && has(t.Rune, c) || slices.ContainsFunc(t.Sub, func(sub *syntax.Regexp) bool { return hasClass(sub, c) })
}

// has reports whether a class has a character.
func has(class []rune, c rune) bool {
	for i := 0; i+1 < len(class); i += 2 {
		if class[i] <= c && c <= class[i+1] {
			return true
		}
	}
	return false
}

// file searches one file, which open opens. It returns fs.SkipAll when there is enough.
func (s *search) file(p workspace.Path, named bool, open func() (io.ReadCloser, workspace.Info, error)) error {
	if s.steps = maxSteps; s.late(0) {
		return fs.SkipAll
	}
	s.searched++
	data, err := s.read(open)
	if err == nil && s.without(data) {
		return nil
	}
	var text string
	if err == nil {
		text, _, err = decode(data, workspace.Encoding{})
	}
	if err != nil && !named {
		return s.skipped.file(s.ctx, p.String(), err)
	}
	if err != nil {
		return encodingAdvice(err, "; read_file shows it with the argument encoding")
	}
	return s.text(p.String(), text)
}

// read returns what is in a file, up to the next call: the memory is used again. Of a file that is no
// text it returns the beginning.
func (s *search) read(open func() (io.ReadCloser, workspace.Info, error)) ([]byte, error) {
	f, info, err := open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := slices.Grow(s.memory[:0], 64<<10)
	for looked := false; max(info.Size, int64(len(data))) <= maxSearched; {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if !looked && workspace.Binary(data) {
			break
		}
		looked = true
		if int64(len(data)) == info.Size { // there is no need to ask for the end
			break
		}
		if len(data) == cap(data) {
			data = slices.Grow(data, max(len(data), int(info.Size)-len(data)+512))
		}
	}
	s.memory = data
	if size := max(info.Size, int64(len(data))); size > maxSearched {
		return nil, fail(tool.FileTooLarge, fmt.Sprintf("the file has %d bytes, and files of up to %d are searched; read_file reads it in parts by start_line and end_line", size, maxSearched))
	}
	return data, nil
}

// without reports whether nothing in a file matches, where that is known without decoding it and splitting
// it into lines. That holds for UTF-8 with line feeds alone.
func (s *search) without(data []byte) bool {
	return !s.byLine && bytes.IndexByte(data, '\r') < 0 && len(invisible.SkipMark(data)) == len(data) &&
		utf8.Valid(data) && !workspace.Binary(data) && !s.match(data)
}

// hit is what matches: lines of a text, counted from 0.
type hit struct{ first, last int }

// text finds the lines of a text that match.
func (s *search) text(name, text string) error {
	if !s.returns {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	if !strings.Contains(text, s.needed) || !s.byLine && !s.match([]byte(text)) {
		return nil
	}
	lines := splitLines(text)
	var hits []hit
	found := func(h hit) bool {
		if s.matches+len(hits) == s.limit {
			s.more = true
			return false
		}
		hits = append(hits, h)
		return true
	}
	if s.across {
		s.eachAcross(text, found)
	} else {
		for n, l := range lines {
			if s.over || s.matchLine(strings.TrimSuffix(l, "\n")) && !found(hit{n, n}) {
				break
			}
		}
	}
	if len(hits) > 0 {
		s.show(name, lines, hits)
	}
	if s.more || s.out.Len() > maxListing {
		s.more = true
		return fs.SkipAll
	}
	return nil
}

// eachAcross calls found for each match that may go over several lines, until it returns false. The next match begins in a later
// line.
func (s *search) eachAcross(text string, found func(hit) bool) {
	for line := 0; !s.over && text != ""; {
		if s.late(len(text)) {
			return
		}
		at := s.find(text)
		if at == nil || s.over {
			return
		}
		h := hit{first: line + strings.Count(text[:at[0]], "\n")}
		end := max(at[1]-1, at[0])
		h.last = h.first + strings.Count(text[at[0]:end], "\n")
		if !found(h) {
			return
		}
		next := strings.IndexByte(text[end:], '\n')
		if next < 0 {
			return
		}
		line, text = h.last+1, text[end+next+1:]
	}
}

// show writes the lines of a file that match, with those around them.
func (s *search) show(name string, lines []string, hits []hit) {
	if s.files > 0 {
		s.out.WriteByte('\n')
	}
	s.files++
	fmt.Fprintf(&s.out, "%s\n", quoted(name))
	next := 0
	for i, h := range hits {
		if s.out.Len() > maxListing {
			s.more = true
			break
		}
		s.matches++
		from, to := max(h.first-s.context, next), h.last+s.context
		if i+1 < len(hits) {
			to = min(to, hits[i+1].first-1)
		}
		if s.context > 0 && from > next && next > 0 {
			s.out.WriteString("--\n")
		}
		for j := from; j <= min(to, len(lines)-1) && s.out.Len() <= 2*maxListing; j++ {
			sign := byte('-')
			if h.first <= j && j <= h.last {
				sign = ':'
			}
			s.out.WriteString(strconv.Itoa(j + 1))
			s.out.WriteByte(sign)
			s.out.WriteByte(' ')
			at := 0
			if j == h.first && j == h.last {
				at = s.start(lines[j])
			}
			s.out.WriteString(excerpt(strings.TrimRight(lines[j], "\r\n"), at))
			s.out.WriteByte('\n')
		}
		next = max(to, h.last) + 1
	}
}

// excerpt is as much of a line as is shown, around byte at.
func excerpt(line string, at int) string {
	if len(line) <= maxShown {
		return line
	}
	from := max(0, at-maxShown/3)
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	to := min(len(line), from+maxShown)
	for to < len(line) && !utf8.RuneStart(line[to]) {
		to--
	}
	s := line[from:to]
	if from > 0 {
		s = "…" + s
	}
	if to < len(line) {
		s += "…"
	}
	return s
}

// done is the plan of a search that has ended with an error.
func (s *search) done(err error) (*tool.Plan, error) {
	if err == nil || err == fs.SkipAll {
		err = s.ctx.Err()
	}
	if err == nil && s.q.args.has("glob") {
		err = s.q.wrongForm("glob", s.searched == 0)
	}
	if err != nil {
		return nil, err
	}
	text := s.out.String()
	data := map[string]any{"path": s.q.canonical, "matches": s.matches, "files": s.files}
	if s.more {
		data["truncated"] = true
	}
	s.skipped.report(data)
	if note := s.note(); note != "" {
		data["notes"] = []string{note}
	}
	return s.q.doneNow(operation{Success: true, Content: &text, Data: data}), nil
}

var (
	regularSigns = regexp.MustCompile(`\\[bBwWdDsSnrtQE.(\[]|[^\\]\{\d+(,\d*)?\}|\.[*+]|\S\|\S|^\^|\$$|\[\^?[^\]]+-[^\]]+\]|\(\?`)
	slashes      = regexp.MustCompile(`^/.+/[gimsuy]*$`)
	grepSigns    = regexp.MustCompile(`\\[|<>]`)
)

// note says why a search may have found nothing; "": no reason is known.
func (s *search) note() string {
	pattern, glob, regular := s.q.args.str("pattern"), s.q.args.str("glob"), s.q.args.flag("regexp", false)
	switch {
	case s.matches > 0 || s.more:
		return ""
	case s.searched == 0 && s.skipped.count == 0 && glob != "":
		return "no file was searched: the glob matches none" + cmp.Or(s.none, s.q.belowPath(glob))
	case s.searched == 0 && s.skipped.count == 0:
		return "no file was searched: there is none, or git ignores them; with ignored these are searched too"
	case !regular && regularSigns.MatchString(pattern):
		return "the pattern was searched for to the letter; with regexp it is a regular expression"
	case regular && grepSigns.MatchString(pattern):
		return `\|, \< and \> are the signs themselves: alternatives are written a|b, and the edge of a word \b`
	case s.spaces && !s.across:
		return `\s and other classes match no line end here; where one is meant, write \n`
	case slashes.MatchString(pattern):
		return "the slashes around the pattern were searched for too; leave them out, ignore_case is an argument"
	case s.returns && s.across:
		return "the pattern has CR LF, which no line end of other files is; LF alone matches both"
	case regular && norm.NFC.String(pattern) != norm.NFD.String(pattern):
		return "the pattern has composed or decomposed characters (é is one or two); only this form of them was searched for"
	}
	return ""
}

// maxProgram is the largest size of a pattern, as programSize counts it. Each instruction takes memory.
const maxProgram = 20_000

// maxSteps is the number of steps after which a search checks whether it has to end. They take some tenths of a second.
const maxSteps = 1 << 25

// bindsToText reports whether a part of a pattern matches only at the beginning or the end of the whole text.
func bindsToText(t *syntax.Regexp) bool {
	return t.Op == syntax.OpBeginText || t.Op == syntax.OpEndText || slices.ContainsFunc(t.Sub, bindsToText)
}

// programSize is about the number of instructions of a pattern. A match takes at most as many steps for each byte of a text.
func programSize(t *syntax.Regexp) int {
	n := 1
	if t.Op == syntax.OpLiteral {
		n = len(t.Rune)
	}
	for _, sub := range t.Sub {
		n += programSize(sub)
	}
	if t.Op == syntax.OpRepeat {
		n *= max(t.Min, t.Max, 1)
	}
	return n
}

// match reports whether something in a text matches. It returns false if the search has to end.
func (s *search) match(text []byte) bool {
	if !bytes.Contains(text, []byte(s.needed)) {
		return false
	}
	for piece := max(maxSteps/s.size, 4<<10); len(text) > piece && !s.across; {
		end := bytes.IndexByte(text[piece:], '\n') + 1
		if end == 0 {
			break
		}
		if end += piece; s.matchPiece(text[:end]) {
			return true
		}
		text = text[end:]
	}
	return s.matchPiece(text)
}

func (s *search) matchPiece(text []byte) bool {
	switch {
	case s.late(len(text)):
		return false
	case s.long(len(text)):
		return s.re.MatchReader(&runes{s, bytes.NewReader(text)}) && !s.over // a line that was read in part ends where the whole line does not
	}
	return s.re.Match(text)
}

// matchLine is match for one line.
func (s *search) matchLine(line string) bool {
	switch {
	case !strings.Contains(line, s.needed) || s.late(len(line)):
		return false
	case s.long(len(line)):
		return s.re.MatchReader(&runes{s, strings.NewReader(line)}) && !s.over
	}
	return s.re.MatchString(line)
}

// start returns the byte of a line that matches at which the match begins.
func (s *search) start(line string) int {
	if at := s.find(line); at != nil {
		return at[0]
	}
	return 0
}

// find returns where the first match begins and ends; nil: there is none.
func (s *search) find(text string) []int {
	if s.long(len(text)) {
		return s.re.FindReaderIndex(&runes{s, strings.NewReader(text)})
	}
	return s.re.FindStringIndex(text)
}

// long reports whether matching n bytes takes so long that the text has to be read rune by rune, with checks in between.
func (s *search) long(n int) bool { return n > maxSteps/s.size }

// late counts n bytes that are matched next, and reports whether the search has to end.
func (s *search) late(n int) bool {
	if s.steps += n * s.size; s.steps < maxSteps {
		return s.over
	}
	s.steps = 0
	if s.q.cfg.Now().Sub(s.q.began) > maxSearch {
		s.more, s.over = true, true
	}
	s.over = s.over || s.ctx.Err() != nil
	return s.over
}

// runes reads the characters of a text, until the search has to end.
type runes struct {
	search *search
	text   io.RuneReader
}

// ReadRune implements io.RuneReader.
func (r *runes) ReadRune() (rune, int, error) {
	if r.search.late(1) {
		return 0, 0, io.EOF
	}
	return r.text.ReadRune()
}

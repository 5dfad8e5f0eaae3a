package tokens

import (
	"encoding/binary"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stet-dev/stet/llm/tokens/bpe"
)

// How the tables of the estimate are made:
//
//	go test ./llm/tokens -run 'TestFit$' -fit -corpus 'go=DIR:.go,json=DIR:.json,prose=DIR:.md+.html+.txt,ts=DIR,python=DIR:.py,zh=DIR,ru=DIR,more=DIR'
//
// The table in use was fitted on: the Go 1.26.8 sources (*.go; *.json; *.md,
// *.html and *.txt as prose), npm typescript 5.9.3 (*.d.ts; its messages in
// Chinese as zh, in Russian and ten more languages as more), the standard
// library of Python 3.11, and the React documentation in Chinese and Russian
// (src/content/learn) as zh and ru. Every domain has
// the same weight. Without -fit the test is skipped; without -corpus there is
// nothing to fit on. TestEstimateError (-corpus alone) prints the error of the
// estimate on whatever is named.
var (
	fit    = flag.Bool("fit", false, "write the tables of the estimate")
	corpus = flag.String("corpus", "", "name=path[:.ext+.ext][,…]: texts to fit on or to measure")
)

// perDomain bounds how much of a domain is used, in bytes.
const perDomain = 4 << 20

// domains reads the corpus: texts by name, in the order given.
func domains(t *testing.T) (names []string, texts map[string][]string) {
	texts = make(map[string][]string)
	for _, d := range strings.Split(*corpus, ",") {
		name, path, ok := strings.Cut(d, "=")
		if !ok {
			continue
		}
		names = append(names, name)
		path, ext, all := strings.Cut(path, ":")
		var files []string
		err := filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && (!all || slices.Contains(strings.Split(ext, "+"), filepath.Ext(p))) {
				files = append(files, p)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		// Files from all parts of the tree, the same files every time.
		slices.SortFunc(files, func(a, b string) int { return strings.Compare(mix(a), mix(b)) })
		size := 0
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if !utf8.Valid(b) || len(b) == 0 {
				continue
			}
			if len(b) > perDomain/4 {
				b = b[:perDomain/4]
			}
			texts[name] = append(texts[name], strings.ToValidUTF8(string(b), ""))
			if size += len(b); size > perDomain {
				break
			}
		}
		t.Logf("%-8s %d files, %d bytes", name, len(texts[name]), size)
	}
	return names, texts
}

// mix maps a path to a sort key that is independent of the tree's order.
func mix(p string) string {
	h := uint64(14695981039346656037)
	for _, b := range []byte(filepath.Base(p)) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return fmt.Sprintf("%016x%s", h, p)
}

func TestFit(t *testing.T) {
	if !*fit {
		t.Skip("run with -fit -corpus …")
	}
	names, texts := domains(t)
	if len(names) == 0 {
		t.Fatal("no -corpus")
	}
	for _, v := range []struct {
		name  string
		exact Counter
		humps bool
	}{{"o200k", bpe.O200k(), true}, {"cl100k", bpe.CL100k(), false}} {
		var out []byte
		for _, n := range fitTable(names, texts, v.exact, v.humps) {
			out = binary.LittleEndian.AppendUint16(out, n)
		}
		if err := os.WriteFile("estimate_"+v.name+".table", out, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fitTable returns the mean number of tokens of the pieces in each cell. A cell with few observations is mixed with the same kind
// and length with any lead, and that with the next shorter length.
func fitTable(names []string, texts map[string][]string, exact Counter, humps bool) (table [cells]uint16) {
	type mean struct{ sum, n float64 }
	var cellsSeen [cells]mean
	known := make(map[string]float64)
	for _, name := range names {
		var seen [cells]mean
		total := 0.0
		for _, text := range texts[name] {
			sc := scanner{s: text, humps: humps}
			for i := 0; i < len(text); {
				c, end := sc.next(i)
				if c >= 0 {
					piece := text[i:end]
					n, ok := known[piece]
					if !ok {
						n = float64(exact.Count(piece))
						known[piece] = n
					}
					seen[c].sum += n
					seen[c].n++
					total += n
				}
				i = end
			}
		}
		for c := range seen {
			cellsSeen[c].sum += seen[c].sum * 1e6 / total
			cellsSeen[c].n += seen[c].n * 1e6 / total
		}
	}
	const little = 25.0 // of a million
	for kind := range kinds {
		previous := 1.0
		for n := range lengths {
			var any mean
			for lead := range leads {
				any.sum += cellsSeen[cell(kind, lead, n)].sum
				any.n += cellsSeen[cell(kind, lead, n)].n
			}
			step := 0.12 // tokens for one more character, if there is no data
			if kind >= punctMixed {
				step = 0
			}
			base := (any.sum + little*(previous+step)) / (any.n + little)
			for lead := range leads {
				m := cellsSeen[cell(kind, lead, n)]
				v := (m.sum + little*base) / (m.n + little)
				table[cell(kind, lead, n)] = uint16(min(63, v)*unit + 0.5)
			}
			if n > 0 {
				previous = base
			}
		}
	}
	return table
}

// TestEstimateError prints how far the estimate is off on each text domain.
func TestEstimateError(t *testing.T) {
	if *corpus == "" || *fit {
		t.Skip("run with -corpus name=path,…")
	}
	names, texts := domains(t)
	for _, name := range names {
		var real, est, realCL, estCL, chars4 int
		for _, s := range texts[name] {
			real += bpe.O200k().Count(s)
			est += Estimate{}.Count(s)
			realCL += bpe.CL100k().Count(s)
			estCL += Estimate{CL100k: true}.Count(s)
			chars4 += utf8.RuneCountInString(s) / 4
		}
		off := func(a, b int) float64 { return 100 * (float64(a)/float64(b) - 1) }
		t.Logf("%-8s %8d tokens: o200k %+5.1f %%, cl100k %+5.1f %%, chars/4 %+5.1f %%", name, real, off(est, real), off(estCL, realCL), off(chars4, real))
	}
}

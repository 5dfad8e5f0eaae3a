// Package dialect knows how agents touch files: it says of a call whether it
// reads, lists, edits, writes or runs a command, on which path and lines, and
// what its result says: the lines it shows, whether it failed, whether the
// tool cut something out.
//
// It is a table, one row per tool of each agent. What no row recognises is
// Other, and is never changed.
package dialect

// Op says what a call does.
type Op uint8

const (
	Other  Op = iota // not recognised, or nothing to do with files
	Read             // shows content of files
	List             // shows what is in a directory
	Edit             // replaces text in a file
	Write            // writes a whole file
	Shell            // runs a command that is not purely a read of files
	Output           // shows what is no file: a search, a page, a plan
	Agent            // has another agent do something, and shows what it reports
)

// Target is a file that a call names, with the lines it asks for.
type Target struct {
	Path        string // as the agent wrote it
	First, Last int    // 1-based, inclusive; 0 = from the first, to the last line
}

// Span is where a JSON string is in the arguments of a call, quotes included:
// the bytes from Start up to, not including, End. The zero Span is not known: the
// text is part of a patch, or is in JSON that a JSON string holds.
type Span struct{ Start, End int }

// Known reports whether the span is known.
func (p Span) Known() bool { return p.End > 0 }

// Replacement is one change that an Edit makes. An empty Old means that New is
// inserted, or is the whole of a new file.
type Replacement struct {
	Path     string
	Old, New string
	All      bool // every occurrence
	OldAt    Span // of Old
}

// Action is what a call does, read from its name and arguments.
type Action struct {
	Op      Op
	Row     string   // the table's row that recognised it, "claude-code/Read"
	Targets []Target // Read, List, Edit, Write: the files named; empty where none is known
	Command string   // Shell, and a Read through a shell: the command line; Output, Agent: the arguments
	Dir     string   // of Command: the directory that the call names for it, from which Targets are seen; "": none
	Edits   []Replacement
	Content string // Write: the whole new content; Output: what the result may repeat; Agent: what is said to it

	ContentAt Span // of Content

	// Once says that the same call shows something else the next time: what a command printed
	// since it was last looked at.
	Once bool

	row      *row      // the row, for Result
	excerpts []excerpt // a Read through a shell: what the command prints, in order
	effects  *effects  // of Command, once it was asked for them
}

// EditsByText reports whether the agent that made a read names text in its edits, and no line numbers.
func (a *Action) EditsByText() bool { return a.row != nil && a.row.EditsByText }

// Result is what a call's result says.
type Result struct {
	Failed    bool      // the call failed as a whole
	Unchanged bool      // the agent's own stub: "unchanged since your last read"
	Sections  []Section // in the order of the text; none where the files of a batch cannot be distinguished
}

// Section is what a result shows of one file.
//
// Lines are without their line ends: the file "a\nb\n" has the lines "a" and
// "b", and so has "a\nb". A carriage return before the line end belongs to the
// line, unless a terminal may have put it there (Stripped). Line n of the file is
// Lines[n-First], always: where the tool left out something in the middle,
// Lines ends before the gap and Cut is set. A section whose lines could not be
// read has no Lines, First 0 and Cut set. Lines are substrings of the result's
// text, or, where that is JSON, of its decoded strings.
//
// In a result that is JSON and shows several files, Start and End enclose the
// inside of a JSON string.
type Section struct {
	Path       string   // as in the call's Target
	Start, End int      // the byte range of the result's text that this file's section takes, header included
	First      int      // the number of the first line shown; 0 = unknown
	Lines      []string // the lines shown, number prefixes stripped; substrings of the result's text
	Total      int      // lines in the whole file, where the result says or proves it; 0 = unknown
	Failed     bool     // this file's read failed
	Unchanged  bool     // as in Result, for this file alone
	Cut        bool     // the tool left something out between First and the last line shown, or clipped a line
	Dir        bool     // a directory listing

	// Said is how many lines the whole file has by what the tool printed
	// ("of 120", "53 more lines"), counted in the tool's own way, so that it is
	// to be compared only with what the same Row said; 0 = not said. It proves
	// nothing about Lines.
	Said int
	// Beside is what the result says of this file next to its lines and the
	// frame that is always around them: symbols, notes, reminders, warnings.
	// A result of one section holds it outside Start and End too.
	Beside   string
	Final    Final // whether the file's last line ends in a line break
	Stripped bool  // carriage returns were taken off Lines
}

// Final says whether a file's last line ends in a line break. A section says
// it only where it shows the end of the file and its format keeps it.
type Final uint8

const (
	FinalUnknown Final = iota
	FinalNewline
	FinalNone
)

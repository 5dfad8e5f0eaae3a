package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// WriteMode says what a write may do beyond replacing an ordinary file. The
// zero value does the least.
type WriteMode struct {
	CreateDirs bool    // make missing directories
	Backup     bool    // leave a copy of what is overwritten among the backups (FILE-17)
	Agreed     Caution // the reasons to ask that a person has agreed to
}

// Written is what a write came to.
type Written struct {
	Path      Path    // canonical: the file that was written, links resolved
	Was, Now  Version // "" for a file that was not there, or is not any more
	Bytes     int64
	Created   bool
	Dirs      int      // directories that were made for it: the last so many of Path's
	Unchanged bool     // the file held these bytes already and was left alone
	Backup    string   // absolute path of the backup, if one was made
	Lost      []string // what of the old file could not be kept, in words
	Info      Info     // of the file as it is now
}

// Write replaces a file's content by data, whole or not at all, if the file's
// version is was; "" makes a new file, where there must be none. Another
// version there is ErrChanged, and Error.Now says which. When it returns, the
// content is durable. Mode, owner and attributes stay, or Lost says what did
// not; line ends and encoding are the caller's, bytes are written as they are.
// What is overwritten is kept, and so is data, as what is shown is. It may be called concurrently, by several
// processes too: for one file one of them wins, the others get ErrChanged.
// (FILE-14, FILE-15)
func (r *Root) Write(ctx context.Context, p Path, data []byte, was Version, o WriteMode) (Written, error) {
	if int64(len(data)) > r.opt.WriteLimit {
		return Written{}, fail("write", p.name, ErrTooLarge, limitWords(int64(len(data)), r.opt.WriteLimit))
	}
	src := contentOf(data, VersionOf(data))
	return r.write(ctx, p, src, was, o)
}

// content is what is to be written.
type content struct {
	r       io.ReadSeeker
	size    int64
	version Version
}

func limitWords(n, limit int64) string {
	return fmt.Sprintf("%d bytes, the limit is %d", n, limit)
}

func (r *Root) write(ctx context.Context, p Path, src content, was Version, o WriteMode) (Written, error) {
	if err := r.enter(); err != nil {
		return Written{}, wrap("write", p.name, err)
	}
	defer r.leave()
	w, err := retrying(ctx, func() (Written, error) { return r.writeOnce(ctx, p, src, was, o) })
	if err == nil {
		r.keepShown(src)
	}
	return w, wrap("write", p.name, err)
}

// errMoved says that what a place was found by has changed since.
var errMoved = errors.New("the path leads elsewhere now")

// retrying tries again what fails for the moment. (FILE-15)
func retrying(ctx context.Context, once func() (Written, error)) (Written, error) {
	pause := 2 * time.Millisecond
	for try := 0; ; try++ {
		w, err := once()
		if err == nil || try == 6 || !passing(err) {
			if errors.Is(err, errMoved) {
				err = because(ErrPath, "links keep changing")
			}
			return w, err
		}
		if err := sleep(ctx, pause); err != nil {
			return Written{}, err
		}
		pause *= 2
	}
}

// job is one write or removal under way.
type job struct {
	r    *Root
	ctx  context.Context
	mode WriteMode
	pl   *place
	was  Version
	old  *os.File // nil when there is none
	info atomicfile.Stat
	out  Written

	done   bool     // what was asked for is
	kept   bool     // the old content is
	unkept []string // or why it is not
}

func (r *Root) writeOnce(ctx context.Context, p Path, src content, was Version, o WriteMode) (Written, error) {
	if p.name == "." || p.name == "" || p.dir {
		return Written{}, because(ErrPath, "it names a directory")
	}
	j, unlock, err := r.begin(ctx, p, was, o)
	if err != nil {
		return Written{}, err
	}
	defer j.end()
	defer unlock()
	now, err := j.version()
	if err != nil {
		return Written{}, err
	}
	j.out.Bytes, j.out.Now = src.size, src.version
	if now == src.version {
		if err := j.stays(); err != nil {
			return Written{}, err
		}
		j.done, j.out.Was, j.out.Unchanged = true, now, true
		j.out.Info = infoOf(j.pl.path, j.info)
		return j.out, nil
	}
	if err := j.expect(now); err != nil {
		return Written{}, err
	}
	if err := j.commit(src); err != nil {
		return Written{}, err
	}
	return j.out, nil
}

// begin finds the place, asks whether it may be written to, takes its lock and
// opens what is there.
func (r *Root) begin(ctx context.Context, p Path, was Version, o WriteMode) (*job, func(), error) {
	how := resolving{stats: true}
	if o.CreateDirs {
		how.missing = func(canonical string, entered []*atomicfile.Dir) error { return o.allows(r.class(canonical, entered)) }
	}
	pl, err := r.resolve(p.name, how)
	if err != nil {
		return nil, nil, err
	}
	j := &job{r: r, ctx: ctx, mode: o, pl: pl, was: was}
	if pl.name == "." {
		j.end()
		return nil, nil, because(ErrIsDirectory, "")
	}
	dir, err := pl.dir.Self()
	var unlock func()
	if err == nil {
		unlock, err = r.state.lock(ctx, dir, pl.name)
	}
	if err != nil {
		j.end()
		return nil, nil, err
	}
	if err := j.look(); err != nil {
		unlock()
		j.end()
		return nil, nil, err
	}
	j.out.Path, j.out.Was = Path{name: pl.path}, was
	return j, unlock, nil
}

func (j *job) end() {
	if j.old != nil {
		_ = j.old.Close()
		j.old = nil
	}
	if !j.done {
		unmake(j.pl.stack, j.pl.made) // what a write that failed has made
	}
	j.pl.close()
}

// allows says whether a file of this class may be written to.
func (o WriteMode) allows(c Class) error {
	switch {
	case c == Own:
		return because(ErrProtected, "it belongs to stet itself")
	case c == Repository:
		return because(ErrProtected, "files of the repository are not written to")
	case c == Control && o.Agreed&ControlFile == 0:
		return &Error{Err: ErrProtected, Detail: "it is a control file, and nobody was asked", Asks: ControlFile}
	}
	return nil
}

// look opens what is at the place and judges it.
func (j *job) look() error {
	old, err := j.pl.dir.Open(j.pl.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return j.mode.allows(j.r.classOf(j.pl, nil))
	case errors.Is(err, atomicfile.ErrLink):
		return errMoved
	case err != nil:
		if st, serr := j.pl.dir.Stat(j.pl.name); serr == nil && kindOf(st.Mode) == Special {
			return because(ErrSpecial, "")
		}
		return err
	}
	j.old = old
	if j.info, err = atomicfile.StatFile(old); err != nil {
		return err
	}
	switch kindOf(j.info.Mode) {
	case Directory:
		return because(ErrIsDirectory, "")
	case File:
	default:
		return because(ErrSpecial, "")
	}
	if err := j.mayReplace(); err != nil {
		// Another write may have displaced the file meanwhile: then it was judged as a
		// kept version, with the mode and the names that those have.
		if now, serr := j.pl.dir.Stat(j.pl.name); serr != nil || !now.Same(j.info) {
			return errMoved
		}
		return err
	}
	return nil
}

// mayReplace says whether the file that is there may be replaced.
func (j *job) mayReplace() error {
	t := Target{Info: infoOf(j.pl.path, j.info), Class: j.r.classOf(j.pl, &j.info)}
	if err := j.mode.allows(t.Class); err != nil {
		return err
	}
	detail := ""
	switch asks := t.Cautions() &^ j.mode.Agreed; {
	case asks&OtherNames != 0:
		detail = fmt.Sprintf("the file has %d names, and nobody was asked", t.Links)
	case asks&ExecutableFile != 0:
		detail = "the file is executable, and no person was asked"
	}
	if detail != "" {
		return &Error{Err: ErrProtected, Detail: detail, Asks: t.Cautions() &^ j.mode.Agreed}
	}
	switch err := j.pl.dir.Writable(j.pl.name); {
	case errors.Is(err, fs.ErrNotExist):
		return errMoved
	case err != nil:
		return because(ErrPermission, "there is no permission to write to the file")
	}
	return nil
}

// tempName is a name for a temporary file beside the one that is written.
func (j *job) tempName() (string, error) { return j.r.state.tempName(path.Dir(j.pl.path)) }

// expect compares what is there with what the caller saw.
func (j *job) expect(now Version) error {
	if now == j.was {
		j.out.Created = j.old == nil
		return nil
	}
	e := &Error{Err: ErrChanged, Now: now}
	switch {
	case j.old == nil:
		e.Detail = "the file is gone"
	case j.was == "":
		e.Detail = "the file exists"
	}
	return e
}

func (j *job) commit(src content) error {
	name, err := j.tempName()
	if err != nil {
		return err
	}
	perm := fs.FileMode(0o600)
	if j.old == nil {
		perm = 0o666
	}
	t, err := atomicfile.NewTemp(j.pl.dir, name, perm)
	if j.mode.CreateDirs && errors.Is(err, fs.ErrNotExist) {
		return errMoved // the directory was made by another write, which failed and removed it
	}
	if err != nil {
		return err
	}
	defer t.Close()
	kept := make(chan error, 1)
	go func() { kept <- j.keepBefore() }() // both syncs share what the disk does
	err = j.fill(t, src)
	if kerr := <-kept; err == nil {
		err = kerr
	}
	if err != nil {
		return err
	}
	if err := j.ctx.Err(); err != nil {
		return err
	}
	err = j.exclusively(name, func() error {
		if j.old == nil {
			return t.Place(j.pl.name)
		}
		return t.Over(j.pl.name, j.accept)
	})
	if err != nil {
		return j.reword(err)
	}
	j.done = true
	j.out.Dirs = j.pl.lastMade()
	j.out.Lost = append(j.out.Lost, j.unkept...)
	if err := j.pl.dir.Sync(); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return j.describe(t)
}

func (j *job) describe(t *atomicfile.Temp) error {
	st, err := t.Stat()
	if errors.Is(err, fs.ErrClosed) {
		st, err = j.pl.dir.Stat(j.pl.name)
	}
	if err != nil {
		return nil // written it is
	}
	j.out.Info = infoOf(j.pl.path, st)
	return nil
}

// fill writes the content to the temporary file, checks it, and makes the file
// like the old one.
func (j *job) fill(t *atomicfile.Temp, src content) error {
	if _, err := src.r.Seek(0, io.SeekStart); err != nil {
		return err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(t, h), contextReader{j.ctx, src.r})
	if err != nil {
		return err
	}
	if n != src.size || versionOf(h) != src.version {
		return errors.New("the content to be written changed meanwhile")
	}
	if j.old != nil {
		lost, err := t.Like(j.old)
		if err != nil {
			return err
		}
		j.out.Lost = append(j.out.Lost, lost...)
		if j.info.Links > 1 {
			j.out.Lost = append(j.out.Lost, fmt.Sprintf("the link to %d other names, which keep the old content", j.info.Links-1))
		}
	}
	return t.Sync()
}

// accept lets the displaced file go if it is still the one that was seen.
func (j *job) accept(displaced *os.File, aside string) error {
	j.r.seams.step("displaced")
	st, err := atomicfile.StatFile(displaced)
	if err != nil {
		return err
	}
	if !st.Mode.IsRegular() || st.Mode != j.info.Mode {
		return errMoved // the new file has the mode that the old one had before
	}
	now, _, err := sum(context.WithoutCancel(j.ctx), displaced)
	if err != nil {
		return err
	}
	if now != j.was {
		return &Error{Err: ErrChanged, Now: now}
	}
	return j.keepAfter(displaced, aside)
}

// reword turns the races that the commit meets into their names.
func (j *job) reword(err error) error {
	switch {
	case errors.Is(err, atomicfile.ErrLink):
		return errMoved
	case j.old == nil && errors.Is(err, fs.ErrExist):
		now := j.versionNow()
		return &Error{Err: ErrChanged, Detail: "the file exists", Now: now}
	case j.old != nil && errors.Is(err, fs.ErrNotExist):
		return &Error{Err: ErrChanged, Detail: "the file is gone"}
	}
	return err
}

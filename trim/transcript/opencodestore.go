package transcript

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// opencode's own storage. Until 1.1 it is a directory "storage" of JSON files:
//
//	storage/session/PROJECT/ses_….json
//	storage/message/ses_…/msg_….json
//	storage/part/msg_…/prt_….json
//
// Since then it is an SQLite database, opencode.db, with the tables session, message and part. The last two hold the same
// JSON, without the ids, in "data". The order of the ids is the order of time. opencode 2 has session_message instead: one
// row for each message, with its parts in "data". Its sessions are in session_v2 or, since 1.18, in session. The old tables may be there, too.

const opencodeDBFormat = "opencode-db"

// isOpencodeSession reports whether a file is one of storage/session.
func isOpencodeSession(s Shape) bool {
	return strings.HasPrefix(s["id"], "ses_") && (s.Has("directory") || s.Has("projectID"))
}

// isOpencodeStore reports whether dir is a "storage" directory of opencode.
func isOpencodeStore(dir string) bool {
	for _, sub := range []string{"session", "message", "part"} {
		if info, err := os.Stat(filepath.Join(dir, sub)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// opencodeSessionFiles lists the session files of a storage directory.
func opencodeSessionFiles(dir string) []string {
	var files []string
	_ = filepath.WalkDir(filepath.Join(dir, "session"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasPrefix(d.Name(), "ses_") && strings.HasSuffix(path, ".json") {
			files = append(files, path)
		}
		return nil
	})
	return files
}

// readOpencodeStorage reads a session file, and the session's messages and parts in the same storage directory.
func readOpencodeStorage(src *File) ([]*Session, error) {
	b, err := src.All()
	if err != nil {
		return nil, err
	}
	var info opencodeInfo
	if err := decode(b, &info); err != nil {
		src.damage(0, err.Error())
		return nil, nil
	}
	r := newOpencode(src)
	r.info(info)
	storage := filepath.Dir(filepath.Dir(filepath.Dir(src.path)))
	messages := src.dir(filepath.Join(storage, "message", info.ID))
	for _, raw := range messages {
		var m opencodeMessage
		if err := decode(raw, &m); err != nil || m.ID == "" {
			src.damage(0, fmt.Sprintf("a message that cannot be read: %v", err))
			continue
		}
		r.message(m, src.dir(filepath.Join(storage, "part", m.ID)))
	}
	return []*Session{r.s}, nil
}

// dir returns the contents of the JSON files in a directory, by name.
func (src *File) dir(path string) []json.RawMessage {
	if name := filepath.Base(path); !fs.ValidPath(name) || strings.ContainsAny(name, `/\`) {
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil // a message without parts has no directory
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	var all []json.RawMessage
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(path, e.Name()))
		if err == nil && !json.Valid(b) {
			err = fmt.Errorf("%s: not JSON", e.Name())
		}
		if err != nil {
			src.damage(0, err.Error())
			continue
		}
		all = append(all, b)
	}
	return all
}

// opencodeDB reads the sessions of opencode's database, one after the other. path is the value for Session.File. The
// sequence ends after an error.
func opencodeDB(db *sql.DB, path string) iter.Seq2[*Session, error] {
	return func(yield func(*Session, error) bool) {
		found := false
		for _, table := range []string{"session_v2", "session"} {
			infos, err := opencodeSessions(db, table)
			if err != nil && missing(db, table) {
				continue
			}
			found = true
			if err != nil {
				yield(nil, fmt.Errorf("read session %s: table %s: %w", path, table, err))
				return
			}
			for _, info := range infos {
				src := &File{path: path, format: opencodeDBFormat, product: "opencode"}
				s, err := src.opencodeRows(db, info, table == "session_v2")
				if err != nil {
					yield(nil, fmt.Errorf("read session %s: session %s: %w", path, info.ID, err))
					return
				}
				done, err := src.finish([]*Session{s})
				if err != nil {
					continue // it has no messages
				}
				if !yield(done[0], nil) {
					return
				}
			}
		}
		if !found {
			yield(nil, fmt.Errorf("read session %s: %w: it has no table session_v2 or session", path, ErrFormat))
		}
	}
}

// missing reports whether a database that can be read has no such table.
func missing(db *sql.DB, table string) bool {
	n := 0
	err := db.QueryRow(`SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?`, table).Scan(&n)
	return err == nil && n == 0
}

func opencodeSessions(db *sql.DB, table string) ([]opencodeInfo, error) {
	rows, err := db.Query(`SELECT id, COALESCE(parent_id, ''), COALESCE(directory, ''), COALESCE(version, '') FROM ` +
		table + ` ORDER BY time_created, id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []opencodeInfo
	for rows.Next() {
		var i opencodeInfo
		if err := rows.Scan(&i.ID, &i.Parent, &i.Dir, &i.Version); err != nil {
			return nil, err
		}
		all = append(all, i)
	}
	return all, rows.Err()
}

// opencodeRows reads one session. Its messages are in the tables of one of the versions.
func (src *File) opencodeRows(db *sql.DB, info opencodeInfo, newer bool) (*Session, error) {
	r := newOpencode(src)
	r.info(info)
	for _, newer := range []bool{newer, !newer} {
		read := src.opencodeRows1
		if newer {
			read = src.opencodeRows2
		}
		if err := read(db, r); err != nil {
			return nil, err
		}
		if len(r.s.Messages) > 0 || len(r.s.Answers) > 0 {
			break
		}
	}
	return r.s, nil
}

func (src *File) opencodeRows1(db *sql.DB, r *opencodeReader) error {
	parts := map[string][]json.RawMessage{}
	err := eachRow(db, "part", `SELECT message_id, '', data FROM part WHERE session_id = ? ORDER BY id`, r.s.ID,
		func(message, _ string, data []byte) { parts[message] = append(parts[message], data) })
	if err != nil {
		return err
	}
	return eachRow(db, "message", `SELECT id, '', data FROM message WHERE session_id = ? ORDER BY time_created, id`, r.s.ID,
		func(id, _ string, data []byte) {
			var m opencodeMessage
			if err := decode(data, &m); err != nil {
				src.damage(0, id+": "+err.Error())
				return
			}
			m.ID = id
			r.message(m, parts[id])
		})
}

func (src *File) opencodeRows2(db *sql.DB, r *opencodeReader) error {
	return eachRow(db, "session_message", `SELECT id, type, data FROM session_message WHERE session_id = ? ORDER BY seq, id`, r.s.ID,
		func(id, kind string, data []byte) {
			if err := r.message2(id, kind, data); err != nil {
				src.damage(0, id+": "+err.Error())
			}
		})
}

// eachRow calls fn with the rows that a query finds. A table that is missing has none.
func eachRow(db *sql.DB, table, query, arg string, fn func(key, kind string, data []byte)) error {
	rows, err := db.Query(query, arg)
	if err != nil && missing(db, table) {
		return nil
	} else if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key, kind string
		var data []byte
		if err := rows.Scan(&key, &kind, &data); err != nil {
			return err
		}
		fn(key, kind, data)
	}
	return rows.Err()
}

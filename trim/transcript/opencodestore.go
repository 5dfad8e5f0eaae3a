package transcript

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
)

// opencode's own storage: an SQLite database, opencode.db, with the tables session, message and part. The last two hold the
// JSON of an export, without the ids, in "data". The order of the ids is the order of time. opencode 2 has session_message instead: one
// row for each message, with its parts in "data". Its sessions are in session_v2 or, since 1.18, in session. The old tables may be there, too.
// (Until 1.1 it was a directory of JSON files, which opencode itself has moved into the database since.)

const opencodeDBFormat = "opencode-db"

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

package transcript_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/transcript"
)

// database makes a small database in opencode's format.
func database(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{
		`CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, directory text NOT NULL, version text NOT NULL, time_created integer NOT NULL)`,
		`CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, data text NOT NULL)`,
		`CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, data text NOT NULL)`,
		`INSERT INTO session VALUES ('ses_2', 'p', 'ses_1', '/home/me/project', '1.18.0', 2), ('ses_1', 'p', NULL, '/home/me/project', '1.18.0', 1), ('ses_3', 'p', NULL, '/home/me', '1.18.0', 3)`,
		`INSERT INTO message VALUES
			('msg_2', 'ses_1', 2, '{"role":"assistant","modelID":"m-1","time":{"created":1767322801000}}'),
			('msg_1', 'ses_1', 1, '{"role":"user","time":{"created":1767322800000}}'),
			('msg_3', 'ses_1', 3, '{"role":'),
			('msg_4', 'ses_2', 4, '{"role":"user"}')`,
		`INSERT INTO part VALUES
			('prt_1', 'msg_1', 'ses_1', '{"type":"text","text":"show a.txt"}'),
			('prt_3', 'msg_2', 'ses_1', '{"type":"tool","tool":"read","callID":"c1","state":{"status":"completed","input":{"filePath":"a.txt"},"output":"1: alpha"}}'),
			('prt_2', 'msg_2', 'ses_1', '{"type":"text","text":"Reading."}'),
			('prt_4', 'msg_2', 'ses_1', '{"type":"step-finish","tokens":{"input":700,"output":20,"reasoning":0,"cache":{"read":300,"write":0}}}'),
			('prt_5', 'msg_4', 'ses_2', '{"type":"text","text":"a sub-agent''s task"}')`,
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpencodeDB(t *testing.T) {
	path := filepath.Join(t.TempDir(), "opencode.db")
	database(t, path)

	if _, err := (transcript.Opener{}).Open(path); !errors.Is(err, transcript.ErrFormat) {
		t.Errorf("without a driver: %v", err)
	}
	o := transcript.Opener{SQLite: func(path string) (*sql.DB, error) { return sql.Open("sqlite", path) }}
	all, err := o.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].ID != "ses_1" || all[1].ID != "ses_2" || all[1].Parent != "ses_1" {
		t.Fatalf("sessions %+v", all)
	}
	s := all[0]
	if s.Format != "opencode-db" || s.File != path || s.Dir != "/home/me/project" || s.Model != "m-1" || s.Agent != "1.18.0" {
		t.Errorf("session %+v", s)
	}
	if len(s.Damaged) != 1 {
		t.Errorf("damaged %v", s.Damaged)
	}
	if len(s.Messages) != 3 {
		t.Fatalf("messages %+v", s.Messages)
	}
	m := s.Messages[1]
	if m.Parts[0].Text != "Reading." || m.Parts[1].Name != "read" || *m.Usage != (llm.Usage{Input: 700, CacheRead: 300, Output: 20}) {
		t.Errorf("answer %+v", m)
	}
	if r := s.Messages[2]; r.Role != llm.Tool || r.Parts[0].Text != "1: alpha" {
		t.Errorf("result %+v", r)
	}

	// Walk passes the sessions one at a time.
	var calls int
	err = o.Walk([]string{filepath.Dir(path)}, func(p string, sessions []*transcript.Session, err error) error {
		calls++
		if err != nil || p != path || len(sessions) != 1 {
			t.Errorf("%s: %d sessions, %v", p, len(sessions), err)
		}
		return nil
	})
	if err != nil || calls != 2 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// BILL-1, BILL-3: opencode 1.18 has messages of opencode 2 for sessions of the old table. A fork gives new ids, in the parts too.
func TestOpencodeDB2(t *testing.T) {
	path := filepath.Join(t.TempDir(), "opencode.db")
	database(t, path)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	answer := `{"model":{"id":"m-1"},"time":{"created":1767322801000},"tokens":{"input":7,"output":2,"reasoning":0,"cache":{"read":0,"write":0}},"content":[
		{"type":"reasoning","id":"ID","text":"hm"},
		{"type":"tool","id":"c1","name":"read","state":{"status":"completed","input":{},"structured":{},"content":[{"type":"text","text":"alpha"},{"type":"file","uri":"data:,","mime":"image/png"}]}}]}`
	for _, q := range []string{
		`CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL, data text NOT NULL)`,
		`INSERT INTO session VALUES ('ses_4', 'p', NULL, '/home/me', '1.18.0', 4)`,
		`INSERT INTO session_message VALUES ('msg_5', 'ses_3', 'user', 1, '{"text":"q","time":{"created":1767322800000}}'),
			('msg_6', 'ses_3', 'assistant', 2, '` + answer + `'), ('msg_7', 'ses_4', 'assistant', 1, '` + strings.ReplaceAll(answer, "ID", "other") + `'),
			('msg_8', 'ses_3', 'compaction', 3, '{"status":"failed","summary":"","recent":"r"}'),
			('msg_9', 'ses_3', 'compaction', 4, '{"reason":"auto","summary":"s","recent":"r","time":{"created":1767322802000}}')`,
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	o := transcript.Opener{SQLite: func(path string) (*sql.DB, error) { return sql.Open("sqlite", path) }}
	all, err := o.Open(path)
	if err != nil || len(all) != 4 {
		t.Fatal(len(all), err)
	}
	s, fork := all[2], all[3]
	if s.Answers[0].Key != fork.Answers[0].Key || s.Answers[0].Usage.Input != 7 {
		t.Errorf("answers %+v\n%+v", s.Answers, fork.Answers)
	}
	if len(s.Messages) != 4 || s.Messages[2].Parts[0].Text != "alpha" || s.Messages[3].Parts[0].Text != "s\nr" || len(s.Starts) != 1 {
		t.Errorf("messages %+v, starts %v", s.Messages, s.Starts)
	}
}

func TestOpencodeDBOfAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "opencode.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE other (id text)`); err != nil {
		t.Fatal(err)
	}
	o := transcript.Opener{SQLite: func(path string) (*sql.DB, error) { return sql.Open("sqlite", path) }}
	if all, err := o.Open(path); err == nil {
		t.Errorf("no error, %v", all)
	}
}

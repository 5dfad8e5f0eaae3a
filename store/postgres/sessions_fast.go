package postgres

import (
	"context"
	"errors"
	"maps"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/stet-dev/stet/store/rows"
)

// remembered is how many sessions are kept in memory.
const remembered = 1000

// remember keeps sessions in memory, as they are in the database after a commit. The caller has the right to commit (see group).
func (s *Sessions) remember(sessions map[string]known) {
	if s.mind == nil || len(s.mind)+len(sessions) > remembered {
		s.mind = map[string]known{}
	}
	maps.Copy(s.mind, sessions)
}

// appendKnown changes the given sessions and adds events, if every session in the database is as the process remembers it.
// Otherwise the statement fails with a division by zero. It is one statement, so it needs one transaction and one round trip.
const appendKnown = `WITH given AS (
		SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
			$10::bigint[], $11::bigint[]) AS u (key, title, first, model, next, closed, updated_us, last, count, was_us, was_last)
	), changed AS (
		UPDATE sessions AS s SET title = u.title, first = u.first, model = u.model, next = u.next, closed = u.closed,
			updated_us = u.updated_us, last = u.last, count = u.count
		FROM given u WHERE s.key = u.key AND s.last = u.was_last AND s.updated_us = u.was_us
		RETURNING 1
	)
	INSERT INTO events (session, seq, time_us, kind, version, sum, body)
	SELECT e.* FROM unnest($12::bigint[], $13::bigint[], $14::bigint[], $15::text[], $16::integer[], $17::bigint[], $18::text[]) AS e
	WHERE 1 / (CASE WHEN (SELECT count(*) FROM changed) = cardinality($1::bigint[]) THEN 1 ELSE 0 END) = 1`

// writeKnown writes jobs whose sessions are all in memory. It returns false, and has written nothing, in three cases: a session
// is not in memory, a job does not fit its session, or another process has added events to a session.
func (s *Sessions) writeKnown(ctx context.Context, jobs []*job[[]addition]) (bool, error) {
	sessions := map[string]known{}
	var events []rows.Event
	for _, j := range jobs {
		for _, a := range j.value {
			if _, ok := sessions[a.Session]; !ok {
				k, ok := s.mind[a.Session]
				if !ok {
					return false, nil
				}
				sessions[a.Session] = k
			}
		}
		mine, err := after(sessions, j.value)
		if err != nil {
			return false, nil
		}
		maps.Copy(sessions, mine)
		events = appendRows(events, sessions, j.value)
	}
	if len(events) == 0 {
		return true, nil
	}
	var was, wasLast []int64
	ids := make([]string, 0, len(sessions))
	for id := range sessions {
		ids = append(ids, id)
		was, wasLast = append(was, s.mind[id].info.Updated.UnixMicro()), append(wasLast, int64(s.mind[id].info.Last))
	}
	args := append(infoColumns(sessions, ids), was, wasLast)
	_, err := s.pool.Exec(ctx, appendKnown, append(args, eventColumns(events)...)...)
	var pg *pgconn.PgError
	switch {
	case err == nil:
		s.remember(sessions)
		return true, nil
	case errors.As(err, &pg) && (pg.Code == "22012" || pg.Code == "23505"): // another process has added events to a session
		return false, nil
	}
	return false, err
}

package rows

import (
	"strings"
	"time"

	"github.com/stet-dev/stet/record"
)

// Condition is the condition of an SQL query. It has a question mark for each of Args.
type Condition struct {
	text []string
	Args []any
}

// Add adds a part. All parts must hold.
func (c *Condition) Add(part string, args ...any) {
	c.text, c.Args = append(c.text, part), append(c.Args, args...)
}

// String returns the text that follows WHERE.
func (c *Condition) String() string {
	if len(c.text) == 0 {
		return "1 = 1"
	}
	return strings.Join(c.text, " AND ")
}

// Where returns q as a condition on requests or trims. It does not include Limit.
func Where(q record.Query) *Condition {
	c := &Condition{}
	c.between(q.From, q.To)
	if q.Conversation != "" {
		c.Add("conversation = ?", q.Conversation)
	}
	if q.Tree != "" {
		c.Add("(conversation = ? OR root <> '' AND root = ?)", q.Tree, q.Tree)
	}
	return c
}

// TrailWhere returns q as a condition on trail. It does not include Limit and Last.
func TrailWhere(q record.TrailQuery) *Condition {
	c := &Condition{}
	c.Add("seq > ?", int64(q.After))
	c.between(q.From, q.To)
	if q.Root != "" {
		c.Add("root = ?", q.Root)
	}
	if q.Session != "" {
		c.Add("session = ?", q.Session)
	}
	if q.CallID != "" {
		c.Add("request <> '' AND call_id = ?", q.CallID)
	}
	if len(q.Kinds) > 0 {
		var kinds []any
		for _, k := range q.Kinds {
			kinds = append(kinds, string(k))
		}
		c.Add("kind IN (?"+strings.Repeat(", ?", len(kinds)-1)+")", kinds...)
	}
	return c
}

func (c *Condition) between(from, to time.Time) {
	if !from.IsZero() {
		c.Add("time_us >= ?", CeilMicro(from))
	}
	if !to.IsZero() {
		c.Add("time_us < ?", CeilMicro(to))
	}
}

// CeilMicro returns the first whole microsecond that is not before t, as Unix time.
func CeilMicro(t time.Time) int64 { return t.Add(time.Microsecond - time.Nanosecond).UnixMicro() }

// Marks returns a question mark for each of the columns.
func Marks(columns string) string {
	return "?" + strings.Repeat(", ?", strings.Count(columns, ","))
}

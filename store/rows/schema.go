package rows

import (
	_ "embed" // the schema
	"errors"
	"fmt"
)

// Schema makes the tables, in the spelling of SQLite.
//
//go:embed tables.sql
var Schema string

// SchemaNumber is the number of Schema and of what each database adds to it.
const SchemaNumber = 4

// ErrOther is the error of a database with another schema.
var ErrOther = errors.New("it was made by another version of stet")

// CheckSchema returns an error for a database with another schema number.
func CheckSchema(number int64) error {
	if number != SchemaNumber {
		return fmt.Errorf("%w (schema %d, this one knows %d): use that version, or name another path or database; nothing was changed",
			ErrOther, number, SchemaNumber)
	}
	return nil
}

// Trouble is an error of a database with a text for people.
type Trouble struct {
	Err  error
	What string // the text, without a path or an address
}

func (t *Trouble) Error() string { return t.Err.Error() }
func (t *Trouble) Unwrap() error { return t.Err }

// Reason is the text for readers who must not learn where the database is.
func (t *Trouble) Reason() string { return "stet's record: " + t.What }

// LostTrouble returns the error of a trail that has lost entries.
func LostTrouble(err error) error {
	return &Trouble{err, "the audit trail has lost entries, and nothing is done before a person has looked (stet audit --verify)"}
}

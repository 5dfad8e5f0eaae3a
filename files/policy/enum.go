package policy

import (
	"fmt"
	"slices"
	"strings"
)

// enum has the names of the values of an enumeration, in their order.
type enum struct {
	typ, want string // for messages
	of        []string
}

func (n enum) name(value uint8) string {
	if int(value) < len(n.of) {
		return n.of[value]
	}
	return fmt.Sprintf("%s(%d)", n.typ, value)
}

// parse sets the value that has the name.
func (n enum) parse(name []byte, value *uint8) error {
	i := slices.Index(n.of, string(name))
	if i < 0 {
		return fmt.Errorf("unknown %s %q: want %s", strings.ToLower(n.typ), name, n.want)
	}
	*value = uint8(i)
	return nil
}

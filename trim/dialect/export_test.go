package dialect

import (
	"maps"
	"slices"
)

// RowNames returns the names of all rows, sorted.
func (t *Table) RowNames() []string { return slices.Sorted(maps.Keys(t.byName)) }

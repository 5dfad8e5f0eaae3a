package config

import "fmt"

// StateError is the error of a state directory that cannot be used.
func StateError(err error) error {
	return fmt.Errorf("state directory: %w; XDG_STATE_HOME says where else it may be", err)
}

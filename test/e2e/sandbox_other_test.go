//go:build !linux

package e2e

import (
	"errors"
	"os/exec"
)

// isolations make a command fail: there are no network namespaces here, and no
// agent is started with a network.
var isolations = []func(cmd *exec.Cmd){
	func(cmd *exec.Cmd) { cmd.Err = errors.New("network namespaces need Linux") },
}

func loopbackUp() error { return nil }

func group(*exec.Cmd) {}

package clients

import (
	"context"
	"sync"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/filetools"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/server/gateway"
	"github.com/stet-dev/stet/tool"
)

// joinHost connects stet's own host to a hub, with an empty directory. It returns the directory, and a function that stops the
// host.
func joinHost(t testing.TB, hub *gateway.Hub) (dir string, stop func(), err error) {
	dir = t.TempDir()
	root, err := workspace.Open(dir, workspace.Options{State: t.TempDir()})
	if err != nil {
		return "", nil, err
	}
	tools, err := filetools.New(filetools.Config{Root: root})
	if err != nil {
		return "", nil, err
	}
	set := new(tool.Set)
	if err := set.Add(tools.All()...); err != nil {
		return "", nil, err
	}
	host := &gateway.Host{
		Workspace: "go",
		Caller:    &approval.Handler{Tools: set, Policy: new(policy.Policy), Approver: gateway.Relay{}, Root: dir, Rate: -1},
		Stage:     tools.Stage,
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := hub.Join(ctx, host); err != nil {
			t.Errorf("host: %v", err)
		}
	})
	return dir, func() {
		cancel()
		running.Wait()
		_ = root.Close()
	}, nil
}

package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/filetools"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/server/gateway"
	"github.com/stet-dev/stet/tool"
)

// A hub and the host of a workspace in one process. Another process would set Host.Dial
// and call Host.Run. An agent elsewhere would speak to Hub.Handler.
func ExampleHub() {
	if err := example(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output: {"success":true,"content":"hello\n","lines_read":1,"data":{"path":"a.txt","version":"5891b5b522d5df08","total_lines":1}}
}

func example(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := os.MkdirTemp("", "notes")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o600); err != nil {
		return err
	}
	root, err := workspace.Open(dir, workspace.Options{State: filepath.Join(dir, ".state")})
	if err != nil {
		return err
	}
	defer root.Close()
	files, err := filetools.New(filetools.Config{Root: root})
	if err != nil {
		return err
	}
	var tools tool.Set
	if err := tools.Add(files.All()...); err != nil {
		return err
	}

	hub, err := gateway.New(gateway.Config{})
	if err != nil {
		return err
	}
	defer hub.Close()
	connected, ended := make(chan string, 1), make(chan error, 1)
	host := &gateway.Host{
		Workspace: "notes",
		Caller:    &approval.Handler{Tools: &tools, Approver: gateway.Relay{}, Root: dir},
		Connected: func(session string) { connected <- session },
	}
	go func() { ended <- hub.Join(ctx, host) }()
	<-connected

	r, err := hub.Caller("notes").Call(ctx, tool.Call{Name: "read_file", Arguments: json.RawMessage(`{"path":"a.txt"}`)})
	if err != nil {
		return err
	}
	fmt.Println(r.Text)
	cancel()
	return <-ended
}

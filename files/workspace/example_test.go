package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stet-dev/stet/files/workspace"
)

// A file is read, and then another program changes it. A write that is based on the old version is refused. A write that is
// based on the new version succeeds. The content that it replaced can be read again.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		fmt.Println(err)
		return
	}
	root, err := workspace.Open(tree, workspace.Options{State: filepath.Join(dir, "state")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer root.Close()

	path, err := root.Path("docs/todo.txt")
	if err != nil {
		fmt.Println(err)
		return
	}
	target, err := root.Inspect(path)
	fmt.Println(target.Kind, target.NewDirs, errors.Is(err, workspace.ErrNotFound))

	made, err := root.Write(ctx, path, []byte("weed\n"), "", workspace.WriteMode{CreateDirs: true})
	fmt.Println(made.Created, err)

	// Another program writes to the file.
	if err := os.WriteFile(filepath.Join(tree, "docs", "todo.txt"), []byte("weed\nwater\n"), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	_, err = root.Write(ctx, path, []byte("rest\n"), made.Now, workspace.WriteMode{})
	fmt.Println(errors.Is(err, workspace.ErrChanged), err)

	now, err := root.ReadAll(ctx, path)
	if err != nil {
		fmt.Println(err)
		return
	}
	written, err := root.Write(ctx, path, append(now.Data, "rest\n"...), now.Version, workspace.WriteMode{})
	fmt.Println(written.Path, written.Bytes, err)

	before, err := root.Kept(written.Was)
	fmt.Printf("%q %v\n", before, err)

	// No path leads out of the tree.
	_, err = root.Path("../outside")
	fmt.Println(errors.Is(err, workspace.ErrPath), err)

	// Output:
	// missing 1 true
	// true <nil>
	// true write docs/todo.txt: changed since read
	// docs/todo.txt 16 <nil>
	// "weed\nwater\n" <nil>
	// true open ../outside: ".." is not allowed; use a path relative to the workspace
}

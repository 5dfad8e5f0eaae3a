package dialect

import (
	"strings"
	"testing"
)

// TRIM-7: a relative path and the same path inside the root are one file, so the root must be known. The texts are from agents'
// prompts.
func TestRoot(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"# Environment\n  Working directory: /home/me/project\n  Platform: linux", "/home/me/project"},
		{"* Current working directory: /home/me/project\n* Git repository root: /home/me", "/home/me/project"},
		{" - Primary working directory: `/srv/x`", "/srv/x"},
		{"- **Working directory:** /srv/x\n", "/srv/x"},
		{"4. Working Directory: C:\\src\\app\n", `C:\src\app`},
		{"4. Working Directory: c:/src/app\n", `c:/src/app`},
		{"Your current working directory is /srv/x. Use absolute paths.", "/srv/x"},
		{"the current working directory (/home/me/project), so there is", "/home/me/project"},
		{"# Current Working Directory (/home/me/a project) Files\n", "/home/me/a project"},
		{"the current workspace directory '/srv/x' holds", "/srv/x"},
		{"working directory: unknown\nWorking directory: /srv/y", "/srv/y"},
		{"<environment_context>\n  <cwd>/home/me/project</cwd>\n", "/home/me/project"},
		{"<working_directory>\n/srv/x\n</working_directory>", "/srv/x"},
		{"cwd: /srv/x\n", "/srv/x"},
		{`{"cwd":"/srv/x","shell":"bash"}`, "/srv/x"},
		{"I'm currently working in the directory: /home/me/a project\nok", "/home/me/a project"},
		{"I'm currently working in the following directories:\n  - /srv/x\n  - /srv/y\n", "/srv/x"},
		{"- MODIFY: files in /testbed (this is the working directory for all commands)\n", "/testbed"},
		{"Project root: /srv/x", "/srv/x"},
		{"The project root is /srv/x.", "/srv/x"},
		{"Project root: F:\\work\\x\n", `F:\work\x`},
		{"The project base directory is: /srv/x\n", "/srv/x"},
		{"Workspace Path: /srv/x", "/srv/x"},
		{"  Workspace root folder: /\n  Working directory: /srv/x\n", "/srv/x"},
		{"Project root: /srv\nWorking directory: /srv/x\n", "/srv/x"},
		{"<uploaded_files>\n/workspace/x\n</uploaded_files>\nI've uploaded a repository in the directory x", "/workspace/x"},
		{"We've uploaded a python code repository in the directory /testbed. Fix it.", "/testbed"},

		{"Workspace root folder: /", ""},
		{"emit `::git-stage{cwd=\"/absolute/path\"}`, with cwd=/srv/x or cwd='/srv/x'", ""},
		{"no directory: /a", ""},
		{"Use getcwd: /a", ""},
		{"Defaults to the current working directory. /etc/hosts is a file", ""},
		{"do not change the working directory, /tmp is for that", ""},
		{"the working directory: ./src", ""},
		{"see https://example.org/cwd:/a", ""},
		{"Read the file /a/b of the project root", ""},
		{"Working directory: /" + strings.Repeat("x", 2000), ""},
		{"/", ""},
		{"cwd:", ""},
		{"", ""},
		{">", ""},
	} {
		if got := Root(tt.text); got != tt.want {
			t.Errorf("Root(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

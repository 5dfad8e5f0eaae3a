package dialect

import "testing"

// TRIM-7: paths inside the root and relative ones are one file, so the root
// must be known.
func TestRoot(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"# Environment\n  Working directory: /home/me/project\n  Platform: linux", "/home/me/project"},
		{"<environment_context>\n  <cwd>/home/me/project</cwd>\n", "/home/me/project"},
		{"I'm currently working in the directory: /home/me/a project\nok", "/home/me/a project"},
		{"4. Working Directory: C:\\src\\app\n", `C:\src\app`},
		{"Primary working directory: `/srv/x`", "/srv/x"},
		{"working directory: unknown\nWorking directory: /srv/y", "/srv/y"},
		{"no directory: /a", ""},
		{"", ""},
		{">", ""},
	} {
		if got := Root(tt.text); got != tt.want {
			t.Errorf("Root(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

package trim

import "testing"

// TRIM-7, with a case for each rule.
func TestKeys(t *testing.T) {
	for _, tt := range []struct{ root, path, want string }{
		{"/home/me/project", "src/a.ts", "src/a.ts"},
		{"/home/me/project", "./src//a.ts", "src/a.ts"},
		{"/home/me/project", "/home/me/project/src/a.ts", "src/a.ts"},
		{"/home/me/project/", "file:///home/me/project/src/a.ts", "src/a.ts"},
		{"/home/me/project", "src/b/../a.ts", "src/a.ts"},
		{"/home/me/project", "src/", "src"},
		{"/home/me/project", "/home/me/project", "."},
		{"/home/me/project", "../project/a.ts", "a.ts"},
		{"/home/me/project", "../other/a.ts", "/home/me/other/a.ts"},
		{"/home/me/project", "/home/me/project2/a.ts", "/home/me/project2/a.ts"},
		{"/home/me/project", "/etc/hosts", "/etc/hosts"},
		{"/home/me/project", "SRC/a.ts", "SRC/a.ts"}, // TRK-5: paths differ by case
		{"/", "/etc/hosts", "etc/hosts"},
		{"", "/etc/hosts", "/etc/hosts"},
		{"", "../a.ts", "../a.ts"},
		{`f:\`, `F:\a.ts`, "a.ts"},
		{`F:/Projects/app`, `f:\Projects\app\a.ts`, "a.ts"},
		{`F:/Projects/app`, `G:\Projects\app\a.ts`, "G:/Projects/app/a.ts"},
		{"/srv", `\\srv\share\x`, "//srv/share/x"},
		{"", "", ""},
		{"", " ", ""},
		{"", "a\x00b", ""},
	} {
		k := newKeys(tt.root)
		for range 2 { // the second time comes from the cache
			if got := k.key(tt.path); got != tt.want {
				t.Errorf("root %q: key(%q) = %q, want %q", tt.root, tt.path, got, tt.want)
			}
		}
		if len(k.cache) != 1 {
			t.Errorf("root %q: %d paths cached", tt.root, len(k.cache))
		}
	}
}

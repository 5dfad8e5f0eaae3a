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
		{`C:\Users\Me\app`, `c:\users\me\app\A.ts`, "A.ts"},
		{`C:\Users\Me\app`, "/c/Users/Me/app/a.ts", "a.ts"},
		{`C:\Users\Me\app`, "/mnt/c/Users/Me/app/a.ts", "a.ts"},
		{`C:\Users\Me\app`, "/cygdrive/c/Users/Me/lib/a.ts", "C:/Users/Me/lib/a.ts"},
		{`C:\Users\Me\app`, "~/app/a.ts", "a.ts"},
		{`C:\Users\Me\app`, "/tmp/a.ts", "/tmp/a.ts"},
		{"/home/me/app", "~/app/a.ts", "a.ts"},
		{"/home/me/app", "~/lib/a.ts", "/home/me/lib/a.ts"},
		{"/Users/me/app", "~/app/a.ts", "a.ts"},
		{"/root/app", "~/app/a.ts", "a.ts"},
		{"/srv/app", "~/app/a.ts", "~/app/a.ts"},
		{"/private/tmp/app", "/tmp/app/a.ts", "a.ts"},
		{"/private/var/folders/x/app", "/var/folders/x/app/a.ts", "a.ts"},
		{"/home/me/app", "/c/a.ts", "/c/a.ts"},
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

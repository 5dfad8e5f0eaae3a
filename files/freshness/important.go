package freshness

import "strings"

// Selection says which files are important.
type Selection struct {
	Max int // at most so many; 0: 10

	// Ignored reports more files that do not count, by .gitignore for instance; nil:
	// none.
	Ignored func(path string) bool
}

// dependencies are directories with files that do not belong to the project, or were
// made from its files.
var dependencies = map[string]bool{
	"node_modules": true, "bower_components": true, "jspm_packages": true, ".yarn": true, ".pnpm-store": true,
	"vendor": true, "third_party": true, ".bundle": true, "pods": true, "carthage": true, ".cargo": true,
	".venv": true, "venv": true, "site-packages": true, "__pycache__": true, ".tox": true, ".nox": true,
	".mypy_cache": true, ".pytest_cache": true, ".ruff_cache": true, ".eggs": true,
	".gradle": true, ".m2": true, ".terraform": true, ".next": true, ".nuxt": true, ".cache": true,
	".git": true, ".hg": true, ".svn": true, ".bzr": true, ".jj": true,
}

// Important lists the files that the session works with, the one that was read or edited
// last first, without those in dependency directories and those that were removed.
func (s *State) Important(o Selection) []string {
	if o.Max <= 0 {
		o.Max = 10
	}
	var out []string
	for _, f := range s.Files() {
		if len(out) == o.Max {
			break
		}
		if f.Status == Deleted || inDependency(f.Path) || o.Ignored != nil && o.Ignored(f.Path) {
			continue
		}
		out = append(out, f.Path)
	}
	return out
}

func inDependency(name string) bool {
	for {
		dir, rest, ok := strings.Cut(name, "/")
		if !ok {
			return false
		}
		if dependencies[strings.ToLower(dir)] {
			return true
		}
		name = rest
	}
}

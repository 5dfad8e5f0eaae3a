package history

import (
	"path"
	"strings"
)

// dependencies are directories of what others wrote: agents read there, and
// edit elsewhere.
var dependencies = []string{
	"/node_modules/", "/vendor/", "/site-packages/", "/dist-packages/", "/.venv/", "/pkg/mod/", "/.cargo/", "/.rustup/",
	"/.gradle/", "/.m2/", "/.npm/", "/.cache/", "/plugins/cache/", "/usr/include/", "/usr/lib/", "/usr/share/",
}

// soon is after how many turns reads of dependencies may leave.
const soon = 10

// foreign reports whether reads of a file may leave under adaptive, since no
// edit will be made from them: the agent changed nothing in its directory so
// far, and it is a dependency that has not been touched for some turns, or
// lies outside the workspace and has not been touched for long.
func (s *survey) foreign(key string) bool {
	if s.f.engine.config.Idle < 0 || s.changed[path.Dir(key)] {
		return false
	}
	for _, dir := range dependencies {
		if strings.Contains("/"+key, dir) {
			return s.f.turns-s.touched[key] >= min(soon, s.f.engine.config.Idle)
		}
	}
	outside := absolute(key) || strings.HasPrefix(key, "../") || strings.HasPrefix(key, "~")
	return s.f.keys.root != "" && outside && s.idle(key, 1)
}

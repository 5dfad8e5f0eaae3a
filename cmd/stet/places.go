package main

import (
	"os"
	"path/filepath"

	"github.com/stet-dev/stet/internal/agentconfig"
)

// userConfig returns where the user's file is, or would be.
func (p *program) userConfig() string {
	return p.xdg("XDG_CONFIG_HOME", ".config", "config.toml")
}

// xdg returns stet's file of that name under an XDG base directory, empty
// when there is no home to put it in. A relative base is ignored, as the XDG
// specification wants it.
func (p *program) xdg(variable, fallback, name string) string {
	base := p.getenv(variable)
	if !filepath.IsAbs(base) {
		base = p.below(fallback)
	}
	if base == "" {
		return ""
	}
	return filepath.Join(base, "stet", name)
}

// machine is where agents run: here.
func (p *program) machine() agentconfig.Machine { return agentconfig.Machine{Env: p.env, Dir: p.dir} }

// home returns the home directory, empty when there is none.
func (p *program) home() string { return p.machine().Home() }

// below returns a path in the home directory, empty when there is no home.
func (p *program) below(names ...string) string { return p.machine().BelowHome(names...) }

// absolute returns a path as one that begins at the working directory.
func (p *program) absolute(path string) string { return p.machine().Absolute(path) }

// projectConfig returns the nearest project file, looking upwards from the
// working directory as far as the checkout or the home directory goes; empty
// when there is none. Where there is no checkout this may be a directory that
// all can write to, so a stranger's file does not count.
func (p *program) projectConfig() string {
	for dir := p.dir; ; {
		file := filepath.Join(dir, projectFile)
		if info, err := os.Stat(file); err == nil {
			if sameOwner(info, p.dir) {
				return file
			}
			p.say("%s is somebody else's and does not count", file)
		}
		_, err := os.Stat(filepath.Join(dir, ".git"))
		up := filepath.Dir(dir)
		if err == nil || up == dir || dir == p.home() {
			return ""
		}
		dir = up
	}
}

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

//go:embed npm/stet.js
var launcher []byte

const (
	npmName    = "@stet-dev/stet"
	mcpName    = "io.github.stet-dev/stet"
	repository = "https://github.com/stet-dev/stet"
	about      = "Makes the requests of coding agents smaller, and gives them safe file tools."
)

// artifact is one entry of GoReleaser's artifacts.json.
type artifact struct {
	Name, Path, Goos, Goarch, Type string
}

// packages writes the npm packages, the formula and server.json into dist. It reads the files that GoReleaser has put there.
func packages(dist string) error {
	var meta struct{ Version string }
	var all []artifact
	if err := errors.Join(readJSON(filepath.Join(dist, "metadata.json"), &meta), readJSON(filepath.Join(dist, "artifacts.json"), &all)); err != nil {
		return err
	}
	optional := map[string]string{}
	sums := map[string]string{} // SHA-256 of the archives, by system and processor
	for _, a := range all {
		path := filepath.Join(dist, "..", a.Path)
		switch a.Type {
		case "Binary":
			name, err := npmProgram(dist, meta.Version, a, path)
			if err != nil {
				return err
			}
			optional[name] = meta.Version
		case "Archive":
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(content)
			sums[a.Goos+"_"+a.Goarch] = hex.EncodeToString(sum[:])
		}
	}
	if len(optional) == 0 {
		return fmt.Errorf("%s: no programs are in it", dist)
	}
	return errors.Join(npmMain(dist, meta.Version, optional), serverJSON(dist, meta.Version), formula(dist, meta.Version, sums))
}

// npmHere writes the npm packages of a program, only for this system. It is for tests.
func npmHere(program, dist string) error {
	const version = "0.0.0-test"
	name, err := npmProgram(dist, version, artifact{Goos: runtime.GOOS, Goarch: runtime.GOARCH}, program)
	return errors.Join(err, npmMain(dist, version, map[string]string{name: version}))
}

// npmMain writes the package that people install. optional are the packages of the programs, with their versions.
func npmMain(dist, version string, optional map[string]string) error {
	return npmPackage(dist, manifest(npmName, version, map[string]any{
		"bin": map[string]string{"stet": "bin/stet.js"}, "optionalDependencies": optional, "mcpName": mcpName, "engines": map[string]string{"node": ">=18"},
	}), map[string][]byte{"bin/stet.js": launcher})
}

func readJSON(file string, to any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// manifest returns the content of a package.json. It has no scripts, so nothing runs when the package is installed.
func manifest(name, version string, more map[string]any) map[string]any {
	m := map[string]any{
		"name": name, "version": version, "description": about, "license": "Apache-2.0",
		"repository": map[string]string{"type": "git", "url": "git+" + repository + ".git"},
	}
	for k, v := range more {
		m[k] = v
	}
	return m
}

// npmProgram writes the package for one system and processor, under Node's names for both.
func npmProgram(dist, version string, a artifact, path string) (name string, err error) {
	system, processor, file := a.Goos, a.Goarch, "stet"
	if system == "windows" {
		system, file = "win32", "stet.exe"
	}
	if processor == "amd64" {
		processor = "x64"
	}
	name = npmName + "-" + system + "-" + processor
	program, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return name, npmPackage(dist, manifest(name, version, map[string]any{"os": []string{system}, "cpu": []string{processor}}),
		map[string][]byte{"bin/" + file: program})
}

// npmPackage writes a package in the form of "npm pack", with the licences. The files have the same time as in npm's own
// packages.
func npmPackage(dist string, manifest map[string]any, files map[string][]byte) error {
	text, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return err
	}
	files["package.json"] = append(text, '\n')
	root := filepath.Join(dist, "..")
	for name, path := range map[string]string{
		"LICENSE": "LICENSE", "README.md": "README.md", "THIRD_PARTY_LICENSES": "bin/release/THIRD_PARTY_LICENSES",
	} {
		if files[name], err = os.ReadFile(filepath.Join(root, path)); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(files[name])), ModTime: time.Date(1985, 10, 26, 8, 15, 0, 0, time.UTC)}
		if strings.HasPrefix(name, "bin/") {
			h.Mode = 0o755
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(files[name]); err != nil {
			return err
		}
	}
	if err := errors.Join(t.Close(), z.Close(), os.MkdirAll(filepath.Join(dist, "npm"), 0o755)); err != nil {
		return err
	}
	flat := strings.NewReplacer("@", "", "/", "-").Replace(fmt.Sprint(manifest["name"]))
	return os.WriteFile(filepath.Join(dist, "npm", fmt.Sprintf("%s-%s.tgz", flat, manifest["version"])), b.Bytes(), 0o644)
}

// serverJSON writes the entry for the registry of MCP servers.
func serverJSON(dist, version string) error {
	text, err := json.MarshalIndent(map[string]any{
		"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":    mcpName, "description": about, "version": version,
		"repository": map[string]string{"url": repository, "source": "github"},
		"packages": []any{map[string]any{
			"registryType": "npm", "identifier": npmName, "version": version,
			"transport":        map[string]string{"type": "stdio"},
			"packageArguments": []any{map[string]string{"type": "positional", "value": "mcp"}},
		}},
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dist, "server.json"), append(text, '\n'), 0o644)
}

// formula writes the Homebrew formula, for the systems with an archive.
func formula(dist, version string, sums map[string]string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "class Stet < Formula\n  desc %q\n  homepage %q\n  version %q\n  license \"Apache-2.0\"\n\n", strings.TrimSuffix(about, "."), repository, version)
	for _, system := range []string{"darwin", "linux"} {
		fmt.Fprintf(&b, "  on_%s do\n", map[string]string{"darwin": "macos", "linux": "linux"}[system])
		for _, p := range []struct{ name, brew string }{{"amd64", "intel"}, {"arm64", "arm"}} {
			if sum := sums[system+"_"+p.name]; sum != "" {
				fmt.Fprintf(&b, "    on_%s do\n      url \"%s/releases/download/v%s/stet_%s_%s_%s.tar.gz\"\n      sha256 %q\n    end\n",
					p.brew, repository, version, version, system, p.name, sum)
			}
		}
		b.WriteString("  end\n\n")
	}
	b.WriteString(`  def install
    bin.install "stet"
    bash_completion.install "completions/stet.bash" => "stet"
    zsh_completion.install "completions/stet.zsh" => "_stet"
    fish_completion.install "completions/stet.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/stet --version")
  end
end
`)
	return os.WriteFile(filepath.Join(dist, "stet.rb"), []byte(b.String()), 0o644)
}

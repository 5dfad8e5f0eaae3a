package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/stet-dev/stet/llm/llmtest"
)

// servedPrompts is the number of prompts of one conversation that the served model acts on.
const servedPrompts = 50

// ServeModel starts the scripted model for other agents. For any prompt it makes the agent read a file of dir, list the directory,
// and read the file again. It writes nothing. address is its listen address, HOST:PORT. file is a path below dir; if it is empty, a
// file is chosen.
func ServeModel(address, dir string, files fs.FS, file string) (server *llmtest.Server, chosen string, err error) {
	if file == "" {
		if file, err = readable(files); err != nil {
			return nil, "", err
		}
	} else if info, err := fs.Stat(files, file); err != nil {
		return nil, "", err
	} else if !info.Mode().IsRegular() {
		return nil, "", fmt.Errorf("%s is not a file", file)
	}
	turns := []llmtest.Turn{
		llmtest.Say("I read "+file+".", llmtest.Read(file)),
		llmtest.Say("I look at what else is here.", llmtest.Shell("ls -l")),
		llmtest.Say("I read "+file+" again, as agents do.", llmtest.Read(file)),
		llmtest.Say("That was all. I am a script: I do the same whatever you ask, and change nothing."),
	}
	server, err = llmtest.Start(llmtest.Config{
		Addr: address, Script: llmtest.Script{Root: dir, Turns: slices.Repeat(turns, servedPrompts)}, Forget: true, NoSockets: true,
		Models: []string{ModelName},
	})
	return server, file, err
}

// Limits of the size of a file that agents read whole.
const (
	smallestFile = 1 << 10
	largestFile  = 8 << 10
)

// readable chooses the file for the agent to read: the largest one in the directory itself that agents read whole, the first by
// name if there are several.
func readable(files fs.FS) (string, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return "", err
	}
	name, size := "", int64(smallestFile-1)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > largestFile || info.Size() <= size || e.Name()[0] == '.' {
			continue
		}
		name, size = e.Name(), info.Size()
	}
	if name == "" {
		return "", errors.New("no file here has between 1 and 8 KB: name one that the agent is to read, as in \"stet model README.md\"")
	}
	return name, nil
}

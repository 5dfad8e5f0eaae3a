package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/demo"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
)

// modelCommand is stet model.
type modelCommand struct {
	command
	listen string
}

func newModel(p *program) *cobra.Command {
	c := &modelCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "model [flags] [FILE]",
		Short: "Serve a scripted model, to try your own agent without a key",
		Long: `Listen on a loopback port and answer as a model does: in the formats Messages, Chat
Completions, Responses and Gemini, under any model name and with any key. The
model is a script. It has the agent read FILE, list the directory, and read FILE
again; it never writes. Without FILE it takes a file of the working directory.

Start it in the directory in which the agent works, and run the agent in another
terminal, with "stet wrap --upstream". Ctrl-C stops it.`,
		Example: `stet model

# In another terminal, with your own agent
stet wrap --upstream http://127.0.0.1:4242 -- codex exec -m gpt-5.5 "what is here?"`,
		Args: atMostOneArg,
	}, &c.command, c.Run)
	cmd.Flags().StringVar(&c.listen, "listen", "127.0.0.1:4242", "loopback address to listen on, HOST:PORT; port 0 takes a free port")
	return cmd
}

func (c *modelCommand) Run(ctx context.Context) error {
	host, err := proxyserver.Host(c.listen)
	if err != nil {
		return c.usage(err)
	}
	if !proxyserver.Loopback(host) {
		return c.usage(fmt.Errorf("%s is not a loopback address: the scripted model is for this machine alone", c.listen))
	}
	file := c.arg()
	if file != "" {
		if file, err = filepath.Rel(c.dir, c.absolute(file)); err != nil || !filepath.IsLocal(file) {
			return c.usage(fmt.Errorf("%s is not below the working directory", c.arg()))
		}
	}
	defer process.OutliveReader()()
	signals := process.Notify(process.EndSignals)
	defer signal.Stop(signals)
	running, stop := process.UntilSignal(ctx, signals)
	defer stop()
	server, file, err := demo.ServeModel(c.listen, filepath.ToSlash(c.dir), os.DirFS(c.dir), filepath.ToSlash(file))
	if errors.As(err, new(*net.OpError)) {
		return proxyserver.ListenError(c.listen, err)
	}
	if err != nil {
		return err
	}
	c.say("a scripted model is at %s; it has agents read %s twice, and writes nothing", server.URL, file)
	c.say("  in another terminal, in this directory: stet wrap --upstream %s -- YOUR AGENT", server.URL)
	c.say("  a key that the agent asks for may be any word, as in OPENAI_API_KEY=none")
	<-running.Done()
	return server.Close()
}

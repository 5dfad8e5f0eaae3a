package main

import (
	"testing"

	"github.com/spf13/cobra"
)

// Images are offered to a model whose API takes them. The scripted model takes none.
func TestImagesByModel(t *testing.T) {
	for model, want := range map[string]bool{"scripted": false, "claude-sonnet-4-5": true} {
		p := &program{env: []string{"HOME=" + t.TempDir()}, dir: t.TempDir()}
		c := &acpCommand{}
		cmd := p.runs(&cobra.Command{Use: "acp"}, &c.command, c.Run)
		addAgentFlags(cmd.Flags(), &c.agentFlags)
		if err := cmd.Flags().Parse([]string{"--model", model}); err != nil {
			t.Fatal(err)
		}
		if got := c.image() != nil; got != want {
			t.Errorf("%s: images are offered: %v", model, got)
		}
	}
}

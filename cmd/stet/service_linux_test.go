package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// systemd listens, and starts the proxy at the first request. The proxy uses that socket, whatever address is configured.
func TestSocketActivation(t *testing.T) {
	activate, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		if os.Getenv("STET_E2E") == "require" {
			t.Fatal(err)
		}
		t.Skip("systemd-socket-activate is not installed")
	}
	h := newHome(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	proxy := h.stet("proxy", "--listen", "127.0.0.1:1")
	cmd := exec.CommandContext(t.Context(), activate, "--listen="+address, proxy.Path, "proxy", "--listen", "127.0.0.1:1")
	for _, v := range proxy.Env { // systemd passes on no other variables
		name, _, _ := strings.Cut(v, "=")
		cmd.Args = append(cmd.Args[:2:2], append([]string{"--setenv=" + name}, cmd.Args[2:]...)...)
	}
	cmd.Env, cmd.Dir = proxy.Env, proxy.Dir
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	var answer []byte
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get("http://" + address + "/healthz")
		if err != nil {
			continue
		}
		answer, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err == nil {
			break
		}
	}
	if string(answer) != "ok\n" {
		t.Errorf("the answer is %q", answer)
	}
}

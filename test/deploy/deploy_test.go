// Package deploy reads the files in deploy in the same way as the programs for which they are made.
package deploy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

const dir = "../../deploy"

// stet builds the program.
func stet(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "stet")
	build := exec.Command("go", "build", "-o", file, "./cmd/stet")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// takes checks that the program knows all these flags.
func takes(t *testing.T, stet string, args []string) {
	t.Helper()
	if out, err := exec.Command(stet, append(slices.Clone(args), "--help")...).CombinedOutput(); err != nil || !bytes.Contains(out, []byte("Flags:")) {
		t.Errorf("stet %q: %v: %s", args, err, out)
	}
}

func TestCompose(t *testing.T) {
	file := filepath.Join(dir, "compose.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	project, err := loader.LoadWithContext(context.Background(), types.ConfigDetails{
		WorkingDir: dir, ConfigFiles: []types.ConfigFile{{Filename: file, Content: data}}, Environment: types.Mapping{"STET_IMAGE": "stet:test"},
	}, func(o *loader.Options) { o.SkipResolveEnvironment = true })
	if err != nil {
		t.Fatal(err)
	}
	program, servers := stet(t), 0
	for name, s := range project.Services {
		if !strings.HasPrefix(name, "node-") {
			continue
		}
		servers++
		takes(t, program, s.Command)
		for _, arg := range s.Command {
			peers, ok := strings.CutPrefix(arg, "--peers=")
			if ok && (strings.Contains(peers, name) || strings.Count(peers, "node-") != 2) {
				t.Errorf("%s has the peers %s", name, peers)
			}
			if own, ok := strings.CutPrefix(arg, "--bus-cert=/secrets/"); ok && own != name+".pem" {
				t.Errorf("%s shows the certificate %s", name, own)
			}
		}
		if s.Image != "stet:test" || len(s.Volumes) != 2 {
			t.Errorf("%s: image %s, %d volumes", name, s.Image, len(s.Volumes))
		}
	}
	if servers != 3 {
		t.Errorf("%d servers", servers)
	}
}

func TestKubernetes(t *testing.T) {
	f, err := os.Open(filepath.Join(dir, "kubernetes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	documents := yaml.NewDocumentDecoder(f)
	defer documents.Close()
	program := stet(t)
	kinds := map[string]int{}
	buffer := make([]byte, 1<<20)
	for {
		n, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var head struct{ Kind string }
		if err := sigsyaml.Unmarshal(buffer[:n], &head); err != nil {
			t.Fatal(err)
		}
		kinds[head.Kind]++
		set := new(appsv1.StatefulSet)
		into, known := map[string]any{"Service": new(corev1.Service), "PodDisruptionBudget": new(policyv1.PodDisruptionBudget), "StatefulSet": set}[head.Kind]
		if !known {
			t.Fatalf("kind %q", head.Kind)
		}
		if err := sigsyaml.UnmarshalStrict(buffer[:n], into); err != nil {
			t.Fatalf("%s: %v", head.Kind, err)
		}
		if head.Kind == "StatefulSet" {
			takes(t, program, set.Spec.Template.Spec.Containers[0].Args)
		}
	}
	if kinds["StatefulSet"] != 1 || kinds["Service"] != 2 || kinds["PodDisruptionBudget"] != 1 {
		t.Error(kinds)
	}
}

func TestAlerts(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: it is in Debian's package prometheus")
	}
	if out, err := exec.Command(promtool, "check", "rules", filepath.Join(dir, "alerts.yaml")).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

package config

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The page's table and the schema match the table of keys. UPDATE=1 rewrites them.
func TestDocs(t *testing.T) {
	written, err := os.ReadFile("../../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(written), tableHead)
	for file, want := range map[string]string{
		"../../../../docs/configuration.md":          head + page(),
		"../../../../docs/configuration.schema.json": schema(t),
	} {
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

// tableHead begins the part of the page that is made from the table.
const tableHead = "| key | default | |\n|---|---|---|\n"

func page() string {
	b := bytes.NewBufferString(tableHead)
	for _, k := range keys {
		name, value, text := "`"+k.Name+"`", k.DefaultText, k.Doc
		if k.Type == tables {
			name = "`[[" + k.Name + "]]`"
		}
		if k.Type == table {
			name = "`[" + k.Name + "]`"
		}
		if k.Default != nil && k.Default != "" {
			value = fmt.Sprintf("`%v`", k.Default)
		}
		if text == "" {
			text = k.Help
		}
		if k.Values != nil && !strings.Contains(text, k.Values[len(k.Values)-1]) {
			text += ": `" + strings.Join(k.Values, "`, `") + "`"
		}
		if k.UserOnly {
			text += " (*)"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, value, text)
	}
	return b.String()
}

func schema(t *testing.T) string {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

package filetools

import (
	"testing"

	"github.com/stet-dev/stet/internal/edit"
)

// A file whose lines end in a CR alone keeps them, in whatever form the edit writes line ends.
func TestCRAlone(t *testing.T) {
	for _, e := range []edit.Edit{
		{Old: "b\n", New: "x\ny\n"}, {Old: "b\r", New: "x\ry\r"}, {Old: "b", New: "x\ny"}, {Old: "a\r\nb", New: "a\r\nx\r\ny"},
	} {
		r, err := applyEdits("a\rb\rc", []edit.Edit{e})
		if err != nil || string(r.Data) != "a\rx\ry\rc" {
			t.Errorf("%+v: %q, %v", e, r.Data, err)
		}
	}
	r, err := applyEdits("a\rb\r", []edit.Edit{{Old: "\r", New: "\n", All: true}})
	if err != nil || string(r.Data) != "a\nb\n" {
		t.Errorf("line ends alone: %q, %v", r.Data, err)
	}
}

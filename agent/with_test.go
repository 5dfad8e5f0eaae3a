package agent

import (
	"reflect"
	"testing"

	"github.com/stet-dev/stet/tool"
)

// With copies every field that can be set.
func TestWithCopiesAll(t *testing.T) {
	a := new(Agent)
	v := reflect.ValueOf(a).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case !v.Type().Field(i).IsExported():
		case f.CanInt():
			f.SetInt(int64(i) + 1)
		case f.CanFloat():
			f.SetFloat(1)
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
		case f.Kind() == reflect.String:
			f.SetString("x")
		case f.Kind() == reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		}
	}
	a.Engine.Window, a.Limits.Window, a.Prompt.System = 1, 2, "s"
	tools := struct{ tool.Caller }{}
	b := a.With(tools)
	if b.Tools != tools {
		t.Error(b.Tools)
	}
	w := reflect.ValueOf(b).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if v.Type().Field(i).IsExported() && name != "Tools" && !reflect.DeepEqual(v.Field(i).Interface(), w.Field(i).Interface()) {
			t.Errorf("%s is left behind", name)
		}
	}
}

package web

import (
	"encoding"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/record"
)

var update = flag.Bool("update", false, "write ui/src/api.gen.ts")

// api has the types of the API: requests, answers, and the types in them.
var api = []any{
	Problem{}, Login{}, LoggedIn{}, Ways{}, Hello{}, Welcome{}, Me{}, Setting{}, PushKey{},
	QueueEvent{}, approval.Question{}, approval.File{}, approval.Closing{}, Content{}, approval.Answer{},
	Session{}, SessionDetail{}, Rewound{}, Next{}, Message{}, Part{}, Share{}, Tokens{}, Hit{}, SessionEvent{}, Rewind{}, Fork{}, Went{},
	Conversation{}, Request{}, Trim{}, Savings{}, Sums{}, Point{}, Group{}, Spending{}, Running{}, record.Cap{}, record.Meter{}, Stop{},
	Files{}, TouchedFile{}, Write{}, OnDisk{}, Undo{}, UndoLook{}, UndoFile{}, TakeBack{}, TakenBack{}, record.Entry{}, Verify{}, Verdict{}, Suspended{}, Lift{},
}

// The page's types match this package.
func TestTypes(t *testing.T) {
	const file = "ui/src/api.gen.ts"
	var b strings.Builder
	b.WriteString("// Made of the Go types by \"go test -run TestTypes . -update\". Do not edit.\n")
	for _, v := range api {
		writeType(t, &b, reflect.TypeOf(v))
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != b.String() {
		t.Errorf("%s is not of the Go types: run go generate ./server/web", file)
	}
}

func writeType(t *testing.T, b *strings.Builder, of reflect.Type) {
	var fields []string
	extends := ""
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Anonymous {
			extends = " extends " + f.Type.Name()
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			t.Fatalf("%s.%s has no name in JSON", of.Name(), f.Name)
		}
		if name == "-" {
			continue
		}
		if options != "" && name != "id" { // what the page gets has an id
			name += "?"
		}
		fields = append(fields, fmt.Sprintf("  %s: %s\n", name, tsType(t, f.Type)))
	}
	fmt.Fprintf(b, "\nexport interface %s%s {\n%s}\n", of.Name(), extends, strings.Join(fields, ""))
}

func tsType(t *testing.T, of reflect.Type) string {
	if of == reflect.TypeFor[[]byte]() || of.Implements(reflect.TypeFor[encoding.TextMarshaler]()) { // base64, a time, a diff
		return "string"
	}
	switch of.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		return "number"
	case reflect.Pointer:
		return tsType(t, of.Elem())
	case reflect.Slice:
		return tsType(t, of.Elem()) + "[]"
	}
	for _, v := range api {
		if reflect.TypeOf(v) == of {
			return of.Name()
		}
	}
	t.Fatalf("%v is not among the types of the API", of)
	return ""
}

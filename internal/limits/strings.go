package limits

import (
	"encoding"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// Limits of what a peer chooses: bytes of a string, and entries of a list.
const (
	Name = 256  // bytes of a name or an id
	Path = 4096 // bytes of a path, a pattern or a sentence
	List = 1000
)

// Strings checks the strings and lists of a message from a peer, which was decoded into v. A string has at most Name bytes, or as many
// as its field's tag max says. A list has at most List entries. With "-" only the limit of the whole message counts. Raw JSON and
// bytes are not looked at. The error names the field.
func Strings(v any) error { return walk("", reflect.ValueOf(v), Name, false) }

// Cut shortens the strings and lists of *v to the limits that Strings checks.
func Cut(v any) { _ = walk("", reflect.ValueOf(v), Name, true) } // what is too long is cut

// walk checks a value, or cuts what is too long in it. most is the limit of its strings; below 0: none.
func walk(key string, v reflect.Value, most int, cut bool) error {
	switch v.Kind() {
	case reflect.String:
		n := v.Len()
		switch {
		case most < 0 || n <= most:
		case cut:
			v.SetString(Clip(v.String(), most))
		default:
			return fmt.Errorf("%s has %d bytes, at most %d", key, n, most)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return walk(key, v.Elem(), most, cut)
		}
	case reflect.Slice:
		n := v.Len()
		switch {
		case v.Type().Elem().Kind() == reflect.Uint8:
			return nil
		case most < 0 || n <= List:
		case cut:
			v.SetLen(List)
		default:
			return fmt.Errorf("%s has %d entries, at most %d", key, n, List)
		}
		for i := range v.Len() {
			if err := walk(key, v.Index(i), most, cut); err != nil {
				return err
			}
		}
	case reflect.Struct:
		if v.Type().Implements(reflect.TypeFor[encoding.TextMarshaler]()) { // a time, or a text without a limit of its own
			return nil
		}
		for f, field := range v.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if err := walk(name, field, MaxOf(f), cut); err != nil {
				return err
			}
		}
	}
	return nil
}

// MaxOf returns the limit of a field's string, or of the strings in its list; below 0: none of its own.
func MaxOf(f reflect.StructField) int {
	switch max := f.Tag.Get("max"); {
	case max == "":
		return Name
	case max == "-":
		return -1
	default:
		n, err := strconv.Atoi(max)
		if err != nil {
			panic("tag max of " + f.Name)
		}
		return n
	}
}

// Clip returns the beginning of s, up to most bytes and without a broken character.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.Clone(strings.ToValidUTF8(s[:most], ""))
}

// Shorten returns s for people to read: whole, or its first most bytes without a broken character, and "…".
func Shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// URL says what in the URL of a request is too long: a part of its path has at most Name bytes, and a value in its query Path; "":
// nothing.
func URL(u *url.URL) string {
	for part := range strings.SplitSeq(u.Path, "/") {
		if len(part) > Name {
			return fmt.Sprintf("a part of the path has %d bytes, at most %d", len(part), Name)
		}
	}
	for key, values := range u.Query() {
		if len(values) > List {
			return fmt.Sprintf("%.40q is given %d times, at most %d", key, len(values), List)
		}
		for _, v := range append(values, key) {
			if len(v) > Path {
				return fmt.Sprintf("%.40q has %d bytes, at most %d", key, len(v), Path)
			}
		}
	}
	return ""
}

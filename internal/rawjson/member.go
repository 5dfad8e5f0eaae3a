package rawjson

import "iter"

// Whole returns the place of the value that body begins with, up to the end of body.
func Whole(body []byte) Span {
	s := New(body)
	s.space()
	return Span{s.pos, len(body)}
}

// Member returns the place of the member key of the object at span. It is zero if there is no object or no such member, or its value
// is null.
func Member(body []byte, at Span, key string) Span {
	keys, f := [1]string{key}, [1]Span{}
	Members(body, at, keys[:], f[:])
	return f[0]
}

// Members takes from the object at span the values of keys, as [Scanner.Object] does. It reports whether there is an object, which could be
// read to its end.
func Members(body []byte, at Span, keys []string, f []Span) bool {
	if at.KindOf(body) != '{' {
		return false
	}
	s := At(body, at)
	return !s.Object(keys, f).IsZero()
}

// Elements passes the places of the elements of the array at span, up to the first error. There are none if there is no array.
func Elements(body []byte, at Span) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		if at.KindOf(body) != '[' {
			return
		}
		s := At(body, at)
		for s.Enter('['); s.Next(); {
			if one := s.Skip(); one.IsZero() || !yield(one) {
				return
			}
		}
	}
}

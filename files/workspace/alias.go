package workspace

import "strings"

// aliases are common names of encodings that are in neither register, in the form that lettersAndDigits returns. Each maps to a
// registered name.
var aliases = map[string]string{
	"u8": "utf-8", "cp65001": "utf-8", "utf8sig": "utf-8-sig", "utf8bom": "utf-8-sig", "utf8withbom": "utf-8-sig",
	"646": "us-ascii", "ucs2": "utf-16le", "ucs2le": "utf-16le", "ucs2be": "utf-16be",
	"utf16le": "utf-16le", "utf16be": "utf-16be", "utf32le": "utf-32le", "utf32be": "utf-32be",
	"cp1200": "utf-16le", "cp1201": "utf-16be",

	"latin7": "iso-8859-13", "latin9": "iso-8859-15",
	"macroman": "macintosh", "cp10000": "macintosh", "maccyrillic": "x-mac-cyrillic", "koi8r": "koi8-r", "koi8u": "koi8-u",
	"cp874": "windows-874", "tis620": "windows-874",

	"sjis": "shift_jis", "shiftjis": "shift_jis", "cp932": "shift_jis", "mskanji": "shift_jis",
	"eucjp": "euc-jp", "ujis": "euc-jp", "iso2022jp": "iso-2022-jp",
	"euckr": "euc-kr", "cp949": "euc-kr", "uhc": "euc-kr", "ksc5601": "euc-kr",
	"cp936": "gbk", "gb2312": "gbk", "euccn": "gbk", "cp54936": "gb18030", "hz": "hz-gb-2312",
	"cp950": "big5", "big5": "big5", "cp858": "ibm00858", "cp1140": "ibm01140",
}

// aliasOf returns the registered name of an encoding for another spelling: without hyphens, with other hyphens, or as Python and Windows
// name it. It returns "" if there is none.
func aliasOf(name string) string {
	s := lettersAndDigits(name)
	for _, prefix := range []string{"codepage", "windows", "win", "ms", "ibm"} {
		if n, ok := strings.CutPrefix(s, prefix); ok && isNumber(n) {
			s = "cp" + n
		}
	}
	if of, ok := aliases[s]; ok {
		return of
	}
	if n, ok := strings.CutPrefix(s, "cp"); ok && isNumber(n) {
		if len(n) == 4 && strings.HasPrefix(n, "125") {
			return "windows-" + n
		}
		return "ibm" + n
	}
	if n, ok := strings.CutPrefix(s, "latin"); ok && isNumber(n) {
		return "latin" + n
	}
	if n, ok := strings.CutPrefix(strings.TrimPrefix(s, "iso"), "8859"); ok && isNumber(n) {
		return "iso-8859-" + n
	}
	return ""
}

// lettersAndDigits returns only the letters and digits of a name, in lower case.
func lettersAndDigits(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			return c
		case 'A' <= c && c <= 'Z':
			return c - 'A' + 'a'
		case strings.ContainsRune("-_. ", c):
			return -1
		}
		return '?'
	}, name)
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

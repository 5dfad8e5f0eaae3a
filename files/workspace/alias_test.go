package workspace

import (
	"strings"
	"testing"
)

// Encodings are found by the names that people, editors and Python use. (FILE-16)
func TestEncodingAliases(t *testing.T) {
	for registered, names := range map[string]string{
		"utf-8":        "utf8 UTF8 utf_8 U8 cp65001",
		"utf-8-sig":    "utf8-sig utf_8_sig utf-8-bom utf8-bom utf8bom UTF8BOM",
		"us-ascii":     "ascii 646",
		"utf-16":       "utf16 UTF-16 utf_16",
		"utf-16le":     "utf16le utf-16-le utf_16_le UTF-16LE ucs2 ucs-2",
		"utf-16be":     "utf16be utf-16-be utf_16_be",
		"utf-32le":     "utf32le utf-32-le utf_32_le",
		"iso-8859-1":   "latin-1 latin1 latin_1 Latin-1 LATIN1 l1 iso8859-1 ISO_8859_1 iso88591 8859-1 cp819",
		"iso-8859-2":   "latin-2 latin2 iso8859_2 iso-8859-2",
		"iso-8859-9":   "latin-5 latin5 iso8859-9",
		"iso-8859-15":  "latin-9 latin9 iso8859-15 iso8859_15",
		"windows-1252": "cp1252 CP1252 cp-1252 windows1252 windows_1252 win1252 win-1252 codepage1252",
		"windows-1251": "cp1251 win1251",
		"windows-874":  "cp874 tis-620",
		"ibm437":       "cp437 ibm-437",
		"ibm866":       "cp866 cp_866",
		"shift_jis":    "sjis s_jis shiftjis shift-jis Shift_JIS cp932 ms932 windows-31j",
		"euc-jp":       "eucjp euc_jp ujis",
		"euc-kr":       "euckr euc_kr cp949 ms949 uhc",
		"gbk":          "cp936 gb2312 GB_2312 euc_cn",
		"big5":         "big-5 cp950 Big5",
		"koi8-r":       "koi8r koi8_r",
		"macintosh":    "macroman mac-roman mac_roman",
		"hz-gb-2312":   "hz",
		"iso-2022-jp":  "iso2022-jp iso2022_jp",
	} {
		want, err := FindEncoding(registered)
		if err != nil {
			t.Errorf("%s: %v", registered, err)
		}
		for _, name := range append(strings.Fields(names), " "+registered+" ") {
			if got, err := FindEncoding(name); err != nil || got != want {
				t.Errorf("%s is %v, %v, not %v", name, got, err, want)
			}
		}
	}
	for _, name := range []string{"latin99", "cp0", "cp99999", "iso-8859-99", "latin", "cp", "8859", "utf-8?", "latin–1", "win", "ansi"} {
		if e, err := FindEncoding(name); err == nil {
			t.Errorf("%q is taken for %v", name, e)
		}
	}
}

/** A stretch of text; one that is an escape stands for a character that does not show. */
export interface Stretch {
  text: string
  escape: boolean
}

// The table is that of the Go package internal/invisible, and lib.test.ts compares
// the two: what prints is letters, marks, numbers, punctuation, symbols, the space
// and the tab, unless its glyph is blank. Left as they are: a variation selector
// after an emoji or in a keycap, a joiner between two emoji, and joiners between
// letters of scripts that are written with them.
const unseen = String.raw`[^\p{L}\p{M}\p{N}\p{P}\p{S} \t]|\p{Default_Ignorable_Code_Point}|[\u2800\u{16fe4}\u{1d159}]`
const symbol = String.raw`(?:(?![\u2800\ufffd\u{1d159}])[\p{So}\u203c\u2049\u2194\u25fb-\u25fe\u3030])`
const tone = String.raw`[\u{1f3fb}-\u{1f3ff}]`
const scripts = [
  ...['Arabic', 'Syriac', 'Mongolian', 'Nko', 'Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya', 'Tamil', 'Telugu'],
  ...['Kannada', 'Malayalam', 'Sinhala', 'Khmer', 'Myanmar'],
]
const letter = String.raw`(?:(?!\p{Default_Ignorable_Code_Point})(?=[\p{L}\p{M}])[${scripts.map((s) => String.raw`\p{Script=${s}}`).join('')}])`
const needed = [
  String.raw`(?<=${symbol})[\ufe0e\ufe0f]`,
  String.raw`(?<=[0-9#*])\ufe0f(?=\u20e3)`,
  String.raw`(?<=${symbol}\ufe0f?|${tone})\u200d(?=${symbol})`,
  String.raw`(?<=${letter})[\u200c\u200d](?=${letter})`,
].join('|')

/** hidden finds what does not show. */
export const hidden = new RegExp(`(?!${needed})(?:${unseen})`, 'gu')

/** visible cuts a text so that all that does not print is an escape. */
export function visible(text: string): Stretch[] {
  const out: Stretch[] = []
  let at = 0
  for (const found of text.matchAll(hidden)) {
    if (found.index > at) out.push({ text: text.slice(at, found.index), escape: false })
    out.push({ text: escape(found[0]), escape: true })
    at = found.index + found[0].length
  }
  if (at < text.length) out.push({ text: text.slice(at), escape: false })
  return out
}

/** plain is visible as one string, for titles and labels. */
export function plain(text: string): string {
  return visible(text)
    .map((s) => s.text)
    .join('')
}

function escape(c: string): string {
  const code = c.codePointAt(0)!
  if (c === '\r') return '\\r'
  if (c === '\n') return '\\n'
  const hex = code.toString(16)
  if (code < 0x80) return '\\x' + hex.padStart(2, '0')
  return code < 0x10000 ? '\\u' + hex.padStart(4, '0') : '\\U' + hex.padStart(8, '0')
}

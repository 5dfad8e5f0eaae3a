/** A stretch of text; one that is an escape stands for a character that does not show. */
export interface Stretch {
  text: string
  escape: boolean
}

// What prints is letters, marks, numbers, punctuation, symbols, the space and the
// tab. Variation selectors and blanks count as printing, and yet show nothing.
const hidden =
  /[^\p{L}\p{M}\p{N}\p{P}\p{S} \t]|[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu

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

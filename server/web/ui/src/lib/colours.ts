import hljs from 'highlight.js/lib/common'
import type { FileDiff } from './diff'

/** A stretch of a line that has a colour: from, to, and the kind of what stands there. */
export type Stretch = [from: number, to: number, kind: string]

const mostText = 200_000 // characters of one side of a change; a longer one has no colours

// What highlight.js tells apart, in the few kinds that the style sheet has colours for.
const kinds: [RegExp, string][] = [
  [/comment|quote/, 'comment'],
  [/string|regexp|char|link|addition/, 'string'],
  [/number|literal|symbol|bullet/, 'number'],
  [/keyword|built_in|type|tag|name|meta|selector|section|variable\.language/, 'keyword'],
]

/** language is what a file is written in, by its name; '': not known. */
export function language(path: string): string {
  const file = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  const name = file.includes('.') ? file.slice(file.lastIndexOf('.') + 1) : file
  return hljs.getLanguage(name) ? name : ''
}

/** colours finds the colours of each line of a text. */
export function colours(text: string, language: string): Stretch[][] {
  const html = hljs.highlight(text, { language, ignoreIllegals: true }).value
  const lines: Stretch[][] = [[]]
  const open: string[] = []
  let at = 0
  for (const [found, begins, escape] of html.matchAll(/<span class="([^"]*)">|<\/span>|&(amp|lt|gt|quot|#x27);|\n|[^<&\n]+/g)) {
    if (begins !== undefined) open.push(kinds.find(([is]) => is.test(begins))?.[1] ?? open.at(-1) ?? '')
    else if (found === '</span>') open.pop()
    else if (found === '\n') {
      lines.push([])
      at = 0
    } else {
      const to = at + (escape ? 1 : found.length)
      const line = lines.at(-1)!
      const kind = open.at(-1) ?? ''
      const last = line.at(-1)
      if (kind && last && last[1] === at && last[2] === kind) last[1] = to
      else if (kind) line.push([at, to, kind])
      at = to
    }
  }
  return lines
}

/** paint gives the lines of diffs their colours, each side of a change as one text. */
export function paint(files: FileDiff[]): void {
  for (const f of files) {
    const is = language(f.path)
    if (!is) continue
    for (const h of f.hunks) {
      for (const goes of ['-', '+']) {
        const side = h.lines.filter((l) => l.kind === ' ' || l.kind === goes)
        const text = side.map((l) => l.text.replace(/\r?\n$/, '')).join('\n')
        if (text.length > mostText || text.includes('\r')) continue
        const found = colours(text, is)
        side.forEach((l, i) => (l.colours = found[i] ?? []))
      }
    }
  }
}

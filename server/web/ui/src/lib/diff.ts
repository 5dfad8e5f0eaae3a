/** The change of one file. */
export interface FileDiff {
  path: string
  hunks: Hunk[]
}

/** A run of changes in a file, with context. Starts count from 1. */
export interface Hunk {
  old_start: number
  new_start: number
  lines: Line[]
}

export interface Line {
  kind: string // ' ', '+' or '-'
  text: string // with its end, if it has one
  colours?: [from: number, to: number, kind: string][] // of stretches, in order; see colours.ts
}

const header = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n?$/

/** parse reads the unified diffs that the server makes, which package internal/diff describes. Of another text there is none. */
export function parse(text: string): FileDiff[] {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const files: FileDiff[] = []
  for (let at = 0; at < lines.length; ) {
    const [before, after] = [lines[at++]!, lines[at++]]
    if (!before.startsWith('--- ') || !after?.startsWith('+++ ')) return []
    const file: FileDiff = { path: path(before, after), hunks: [] }
    for (let m; (m = header.exec(lines[at] ?? '')); ) {
      at++
      let [old, now] = [Number(m[2] ?? 1), Number(m[4] ?? 1)]
      const hunk: Hunk = { old_start: Number(m[1]), new_start: Number(m[3]), lines: [] }
      while (old > 0 || now > 0) {
        const line = lines[at++]
        const kind = line?.[0] ?? ''
        if (kind === '' || !' +-'.includes(kind)) return []
        if (kind !== '+') old--
        if (kind !== '-') now--
        let text = line!.slice(1)
        if (lines[at]?.startsWith('\\ No newline at end of file')) {
          text = text.replace(/\n$/, '')
          at++
        }
        hunk.lines.push({ kind, text })
      }
      if (old < 0 || now < 0) return []
      file.hunks.push(hunk)
    }
    files.push(file)
  }
  return files
}

/** path is the name in the headers of a file's diff. */
function path(before: string, after: string): string {
  const [was, is] = [name(before), name(after)]
  return is === '/dev/null' ? was.replace(/^a\//, '') : is.replace(/^b\//, '')
}

/** name is a name as git quotes it: its bytes may be escapes. */
function name(line: string): string {
  const text = line.slice(4).replace(/[\t\n]+$/, '')
  if (!/^".*"$/.test(text)) return text
  const bytes: number[] = []
  for (const [found, escape] of text.slice(1, -1).matchAll(/\\([0-7]{3}|.)|[^\\]+/g)) {
    if (escape === undefined) bytes.push(...new TextEncoder().encode(found))
    else if (escape.length === 3) bytes.push(parseInt(escape, 8))
    else bytes.push(({ n: '\n', t: '\t', r: '\r' }[escape] ?? escape).charCodeAt(0))
  }
  return new TextDecoder().decode(new Uint8Array(bytes))
}

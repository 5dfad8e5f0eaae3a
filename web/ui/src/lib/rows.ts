import type { FileDiff, Hunk, Line } from '../api.gen'

/** longest is how many characters of a line are shown. */
export const longest = 2000

/** A line on one side of a diff. changed is the stretch that differs from its pair. */
export interface Cell {
  kind: ' ' | '-' | '+'
  number: number
  text: string
  end: '' | 'none' | 'crlf' // how the line ends, where that is not "\n"
  more: number // characters that are not shown
  changed?: [number, number]
}

/** A row of a diff; all have one height. hunk counts through all files. */
export type Row =
  | { type: 'file'; path: string }
  | { type: 'hunk'; hunk: number; title: string }
  | { type: 'line'; hunk: number; old?: Cell | undefined; new?: Cell | undefined }

interface Pair {
  old?: Cell
  new?: Cell
}

/** unified is one line after the other, what goes before what comes. */
export function unified(files: FileDiff[]): Row[] {
  return build(files, (pairs) => {
    const out: Pair[] = []
    let come: Pair[] = []
    for (const p of pairs) {
      if (p.old && p.new && p.old.kind === ' ') {
        out.push(...come, p)
        come = []
        continue
      }
      if (p.old) out.push({ old: p.old })
      if (p.new) come.push({ new: p.new })
    }
    return [...out, ...come]
  })
}

/** split has what goes and what comes side by side. */
export function split(files: FileDiff[]): Row[] {
  return build(files, (pairs) => pairs)
}

function build(files: FileDiff[], arrange: (pairs: Pair[]) => Pair[]): Row[] {
  const rows: Row[] = []
  let n = 0
  for (const f of files) {
    if (files.length > 1) rows.push({ type: 'file', path: f.path })
    for (const h of f.hunks) {
      rows.push({ type: 'hunk', hunk: n, title: title(h) })
      for (const p of arrange(pairs(h))) rows.push({ type: 'line', hunk: n, old: p.old, new: p.new })
      n++
    }
  }
  return rows
}

/** title says where a change is. */
function title(h: Hunk): string {
  const lines = h.lines.filter((l) => l.kind !== '-').length
  if (lines === 0) return `after line ${h.new_start}`
  return lines === 1 ? `line ${h.new_start}` : `lines ${h.new_start}–${h.new_start + lines - 1}`
}

/** pairs puts lines that go beside those that come in their place. */
function pairs(h: Hunk): Pair[] {
  const out: Pair[] = []
  let [old, now] = [h.old_start, h.new_start]
  let went: Cell[] = []
  let came: Cell[] = []
  const flush = () => {
    for (let i = 0; i < Math.max(went.length, came.length); i++) {
      const [a, b] = [went[i], came[i]]
      if (a && b) mark(a, b)
      out.push({ ...(a && { old: a }), ...(b && { new: b }) })
    }
    went = []
    came = []
  }
  for (const l of h.lines) {
    if (l.kind === '-') {
      went.push(cell(l, old++))
    } else if (l.kind === '+') {
      came.push(cell(l, now++))
    } else {
      flush()
      out.push({ old: cell(l, old++), new: cell(l, now++) })
    }
  }
  flush()
  return out
}

function cell(l: Line, number: number): Cell {
  let [text, end]: [string, Cell['end']] = [l.text, 'none']
  if (text.endsWith('\r\n')) [text, end] = [text.slice(0, -2), 'crlf']
  else if (text.endsWith('\n')) [text, end] = [text.slice(0, -1), '']
  let shown = text.length
  if (shown > longest) shown = isLow(text.charCodeAt(longest)) ? longest - 1 : longest
  return { kind: l.kind as Cell['kind'], number, text: text.slice(0, shown), end, more: text.length - shown }
}

/** mark notes where two lines differ, unless they have little in common. */
function mark(a: Cell, b: Cell): void {
  const most = Math.min(a.text.length, b.text.length)
  let head = 0
  while (head < most && a.text[head] === b.text[head]) head++
  if (head > 0 && isLow(a.text.charCodeAt(head))) head--
  let tail = 0
  while (tail < most - head && a.text.at(-1 - tail) === b.text.at(-1 - tail)) tail++
  if (tail > 0 && isLow(a.text.charCodeAt(a.text.length - tail))) tail--
  if ((head + tail) * 3 < most) return
  a.changed = [head, a.text.length - tail]
  b.changed = [head, b.text.length - tail]
}

/** isLow reports whether a code unit is the second half of a character. */
function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}

/** count is how many changes a diff has. */
export function count(files: FileDiff[]): number {
  return files.reduce((n, f) => n + f.hunks.length, 0)
}

/** unseen is how many characters of long lines are not shown. */
export function unseen(rows: Row[]): number {
  let n = 0
  for (const r of rows) {
    if (r.type !== 'line') continue
    n += r.new?.more ?? 0
    if (r.old?.kind === '-') n += r.old.more
  }
  return n
}

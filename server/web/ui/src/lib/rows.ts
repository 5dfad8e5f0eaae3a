import type { FileDiff, Hunk, Line } from './diff'
import { plain } from './visible'

/**
 * A line on one side of a diff, or a part of a long one: see wrap. changed is the
 * stretch that differs from its pair.
 */
export interface Cell {
  kind: ' ' | '-' | '+'
  number: number // 0: the line began in a row above
  text: string
  end: '' | 'none' | 'crlf' // how the line ends, where that is not "\n"
  changed?: [number, number]
  colours?: Line['colours']
}

/** A piece of a cell's text that looks the same from its first character to its last. */
export interface Piece {
  text: string
  kind: string // of its colour; '': it has none
  changed: boolean
}

/** pieces cuts a cell's text where its look changes. */
export function pieces(c: Cell): Piece[] {
  const [from, to] = c.changed ?? [0, 0]
  const cuts = [...new Set([0, from, to, c.text.length, ...(c.colours ?? []).flatMap(([a, b]) => [a, b])])].filter((n) => n <= c.text.length).sort((a, b) => a - b)
  return cuts.slice(0, -1).map((at, i) => ({
    text: c.text.slice(at, cuts[i + 1]),
    kind: c.colours?.find(([a, b]) => a <= at && at < b)?.[2] ?? '',
    changed: from <= at && at < to,
  }))
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
  return { kind: l.kind as Cell['kind'], number, text, end, ...(l.colours && { colours: l.colours }) }
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

/**
 * wrap breaks lines that are wider than so many columns into rows. All rows have one
 * height, so that those in view can be found without drawing the others.
 */
export function wrap(rows: Row[], columns: number): Row[] {
  return rows.flatMap((r) => {
    if (r.type !== 'line') return [r]
    const [old, now] = [r.old && broken(r.old, columns), r.new && broken(r.new, columns)]
    const high = Math.max(old?.length ?? 0, now?.length ?? 0)
    return Array.from({ length: high }, (_, i): Row => ({ type: 'line', hunk: r.hunk, old: old?.[i], new: now?.[i] }))
  })
}

/** broken is a line as cells that fit into so many columns. */
function broken(c: Cell, columns: number): Cell[] {
  if (c.text.length * widest <= columns) return [c]
  const cuts = [0]
  let at = 0 // column
  let end = 0
  for (const char of c.text) {
    const w = char === '\t' ? tab - (at % tab) : width(char)
    if (at + w > columns && w > 0) {
      cuts.push(end)
      at = 0
    }
    at += char === '\t' ? tab - (at % tab) : w
    end += char.length
  }
  return cuts.map((from, i): Cell => {
    const to = cuts[i + 1] ?? c.text.length
    return {
      kind: c.kind,
      number: i === 0 ? c.number : 0,
      text: c.text.slice(from, to),
      end: i === cuts.length - 1 ? c.end : '',
      ...(c.colours && { colours: c.colours.filter(([a, b]) => b > from && a < to).map(([a, b, kind]): [number, number, string] => [Math.max(0, a - from), Math.min(to, b) - from, kind]) }),
      ...(c.changed && { changed: [Math.max(0, c.changed[0] - from), Math.min(to, c.changed[1]) - from] as [number, number] }),
    }
  })
}

const tab = 4 // as the style sheet has it
const widest = 10 // columns of a character: one that does not show is an escape
const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|\p{Ideographic}/u
const widths = new Map<string, number>()

/** width is how many columns a character takes, at most. */
function width(char: string): number {
  if (char >= ' ' && char <= '~') return 1
  let w = widths.get(char)
  if (w === undefined) {
    const shown = plain(char)
    w = shown !== char ? shown.length : wide.test(char) ? 2 : /\p{M}/u.test(char) ? 0 : 1
    widths.set(char, w)
  }
  return w
}

import { expect, test } from 'vitest'
import type { FileDiff, Hunk } from './diff'
import { count, split, unified, wrap, type Row } from './rows'

const hunk = (at: number, ...lines: string[]): Hunk => ({
  old_start: at,
  new_start: at,
  lines: lines.map((l) => ({ kind: l[0]!, text: l.slice(1) })),
})
const file = (...hunks: Hunk[]): FileDiff => ({ path: 'a.txt', hunks })

/** drawn is rows as a string: numbers, signs and texts. */
function drawn(rows: Row[]): string[] {
  return rows.map((r) => {
    if (r.type === 'file') return 'file ' + r.path
    if (r.type === 'hunk') return `hunk ${r.hunk}: ${r.title}`
    const side = (c: typeof r.old) => (c ? `${c.number}${c.kind}${c.text}` : '')
    return `${side(r.old)}|${side(r.new)}`
  })
}

const changed = file(hunk(3, ' a\n', '-b\n', '-c\n', '+B\n', '+C\n', '+D\n', ' e\n'), hunk(20, '-x\n', ' y\n'))

test('side by side, what comes stands beside what it takes the place of', () => {
  expect(drawn(split([changed]))).toEqual(['hunk 0: lines 3–7', '3 a|3 a', '4-b|4+B', '5-c|5+C', '|6+D', '6 e|7 e', 'hunk 1: line 20', '20-x|', '21 y|20 y'])
})

test('one below the other, what goes comes first', () => {
  expect(drawn(unified([changed]))).toEqual([
    'hunk 0: lines 3–7', '3 a|3 a', '4-b|', '5-c|', '|4+B', '|5+C', '|6+D', '6 e|7 e', 'hunk 1: line 20', '20-x|', '21 y|20 y',
  ])
})

test('lines that come do not move over lines that stay', () => {
  const f = file(hunk(1, '-a\n', '+A\n', ' b\n', '-c\n', '+C\n'))
  expect(drawn(unified([f])).slice(1)).toEqual(['1-a|', '|1+A', '2 b|2 b', '3-c|', '|3+C'])
})

test('changes are numbered through all files', () => {
  expect(drawn(split([changed, { ...changed, path: 'b.txt' }])).filter((r) => /^(file|hunk)/.test(r))).toEqual([
    'file a.txt', 'hunk 0: lines 3–7', 'hunk 1: line 20', 'file b.txt', 'hunk 2: lines 3–7', 'hunk 3: line 20',
  ])
  expect(count([changed, changed])).toBe(4)
})

test('a file that becomes empty', () => {
  const f = file({ old_start: 1, new_start: 0, lines: [{ kind: '-', text: 'a\n' }] })
  expect(drawn(unified([f]))).toEqual(['hunk 0: after line 0', '1-a|'])
})

test('how lines end is not lost', () => {
  const ends = unified([file(hunk(1, '-a\r\n', '+a\n', '+b'))]).map((r) => (r.type === 'line' ? (r.old ?? r.new)!.end : ''))
  expect(ends).toEqual(['', 'crlf', '', 'none'])
})

test('what differs in a pair is marked, and no character is cut in two', () => {
  const mark = (a: string, b: string) => {
    const r = split([file(hunk(1, '-' + a, '+' + b))])[1]!
    if (r.type !== 'line') throw new Error('no line')
    return [r.old, r.new].map((c) => c!.changed && c!.text.slice(...c!.changed))
  }
  expect(mark('return retry\n', 'return budget(retry)\n')).toEqual(['retry', 'budget(retry)'])
  expect(mark('say \u{1F600} now\n', 'say \u{1F601} now\n')).toEqual(['\u{1F600}', '\u{1F601}'])
  expect(mark('abc\n', 'xyz\n')).toEqual([undefined, undefined])
})

test('long lines go on in the next row, side by side with their pair', () => {
  const rows = split([file(hunk(1, '-abcdefghijklmnopqrst\n', '+abcdefghijXlmnopqrst and more', ' \ty\n'))])
  const wrapped = wrap(rows, 10)
  expect(drawn(wrapped).slice(1)).toEqual(['1-abcdefghij|1+abcdefghij', '0-klmnopqrst|0+Xlmnopqrst', '|0+ and more', '2 \ty|2 \ty'])
  const cells = wrapped.flatMap((r) => (r.type === 'line' ? [r.old, r.new] : []))
  expect(cells.filter((c) => c?.end).map((c) => c!.text)).toEqual([' and more'])
  const marked = cells.flatMap((c) => (c?.changed && c.changed[1] > c.changed[0] ? [c.text.slice(...c.changed)] : []))
  expect(marked).toEqual(['klmnopqrst', 'Xlmnopqrst', ' and more'])
})

test('what is wider takes more columns, and no character is cut in two', () => {
  const texts = (line: string, columns: number) => wrap(unified([file(hunk(1, '+' + line))]), columns).flatMap((r) => (r.type === 'line' ? [r.new!.text] : []))
  expect(texts('a\tb\tc', 8)).toEqual(['a\tb\t', 'c'])
  expect(texts('\u6f22\u5b57\u6f22\u5b57', 5)).toEqual(['\u6f22\u5b57', '\u6f22\u5b57'])
  expect(texts('\u{1F600}\u{1F601}', 3)).toEqual(['\u{1F600}', '\u{1F601}'])
  expect(texts('abe\u0301', 3)).toEqual(['abe\u0301'])
  expect(texts('a\u202eb', 7)).toEqual(['a\u202e', 'b']) // it is shown as an escape
  const long = 'x\u202e\t\u{1F600}'.repeat(5000)
  expect(texts(long, 60).join('')).toBe(long)
})

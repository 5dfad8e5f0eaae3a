import { expect, test } from 'vitest'
import type { FileDiff, Hunk } from '../api.gen'
import { count, longest, split, unified, unseen, type Row } from './rows'

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

test('long lines are cut, and what is missing is counted once', () => {
  const long = 'x'.repeat(longest + 10)
  expect(unseen(unified([file(hunk(1, ` ${long}\n`, `-${long}\n`, '+y\n'))]))).toBe(20)
  const face = 'x'.repeat(longest - 1) + '\u{1F600}'
  const row = unified([file(hunk(1, `+${face}\n`))])[1]!
  expect(row.type === 'line' && row.new!.text).toBe('x'.repeat(longest - 1))
})

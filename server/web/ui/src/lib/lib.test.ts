import { expect, test } from 'vitest'
import table from './invisible.json'
import { bytes, change, left, short, usdMark } from './format'
import { suggested } from './pattern'
import { hash, keyOf, mac } from './proof'
import { Events } from './sse'
import { turns } from './turn'
import { plain, visible } from './visible'

test('what does not print is an escape', () => {
  expect(plain('a\tb — ü 漢 שלום 👍')).toBe('a\tb — ü 漢 שלום 👍')
  expect(plain('a\u202eb\u0007\r\n\u200b\ufeff\u00a0\u{e0041}\ufe0f\u2800\ud800')).toBe(
    'a\\u202eb\\x07\\r\\n\\u200b\\ufeff\\u00a0\\U000e0041\\ufe0f\\u2800\\ud800',
  )
  expect(visible('a\u0000b')).toEqual([
    { text: 'a', escape: false },
    { text: '\\x00', escape: true },
    { text: 'b', escape: false },
  ])
  expect(visible('')).toEqual([])
})

test('what does not print is what the server says', () => {
  for (const [text, shown] of table.shown as [string, string][]) expect(plain(text)).toBe(shown)
  for (const [first, last] of table.hidden as [number, number][]) {
    for (let c = first; c <= last; c++) {
      if (c !== 9) expect(plain('x' + String.fromCodePoint(c)), c.toString(16)).toContain('\\')
    }
  }
})

test('events are read however they are cut', () => {
  const whole = ': alive\n\nid: 7\ndata: {"a":1}\n\ndata: one\ndata: two\n\ndata: not yet'
  for (let size = 1; size <= whole.length; size++) {
    const events = new Events()
    const found: string[] = []
    for (let i = 0; i < whole.length; i += size) found.push(...events.take(whole.slice(i, i + size)))
    expect(found).toEqual(['{"a":1}', 'one\ntwo'])
  }
})

test('the pattern that is offered', () => {
  expect(suggested('docs/a.md')).toBe('docs/**')
  expect(suggested('a.md')).toBe('*.md')
  expect(suggested('Makefile')).toBe('Makefile')
  expect(suggested('.env')).toBe('.env')
  expect(suggested('x[1]/a*b/c.go')).toBe('x\\[1\\]/a\\*b/**')
})

test('figures', () => {
  expect([bytes(1), bytes(999), bytes(20 << 10), bytes(50 << 20)]).toEqual(['1 byte', '999 bytes', '20 KB', '50 MB'])
  expect([short(9999), short(12_345)]).toEqual(['9,999', '12.3K'])
  expect([change(100, 80), change(0, 5), change(100, 130)]).toEqual(['−20.0\u00a0%', '0\u00a0%', '+30.0\u00a0%'])
  expect([left('2026-01-01T00:02:05Z', Date.parse('2026-01-01T00:00:00Z')), left('2026-01-01T00:00:00Z', Date.parse('2026-01-02T00:00:00Z'))]).toEqual(['2:05 min', '0 s'])
})

test('of several askings the last one counts', () => {
  const turn = turns()
  const first = turn()
  expect(first()).toBe(true)
  const second = turn()
  expect([first(), second()]).toEqual([false, true])
})

test('a MAC is the same with a key of the browser and with its bytes', async () => {
  const text = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8'
  const key = await keyOf(text)
  const bytes = Uint8Array.from({ length: 32 }, (_, i) => i)
  expect(key).not.toBeInstanceOf(Uint8Array)
  const want = '7etlZUSiu3uCP-IodLzq2lTgqoV_LXG63RABg-Z06EM'
  expect(await mac(key, 'request', 'ü')).toBe(want)
  expect(await mac(bytes, 'request', 'ü')).toBe(want)
  expect(hash('')).toBe('47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU')
})

test('marks of an axis of dollars differ', () => {
  const marks = (step: number) => [0, 1, 2].map((n) => usdMark(n * step, step))
  expect(marks(0.0025)).toEqual(['$0', '$0.0025', '$0.0050'])
  expect(marks(0.2)).toEqual(['$0', '$0.20', '$0.40'])
  expect(marks(2.5)).toEqual(['$0', '$2.50', '$5.00'])
  expect(marks(50)).toEqual(['$0', '$50', '$100'])
})

import { expect, test } from 'vitest'
import { parse } from './diff'

test('a diff of several files is read as the server has made it', () => {
  const files = parse(
    '--- a/x y\t\n+++ b/x y\t\n@@ -1,2 +1 @@\n-a\n---- b\n\\ No newline at end of file\n+c\r\n' +
      '--- /dev/null\n+++ "b/\\303\\274\\"\\n"\n@@ -0,0 +1 @@\n+d\n@@ -9 +10,2 @@\n e\n+f\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-g\n',
  )
  expect(files.map((f) => f.path)).toEqual(['x y', 'ü"\n', 'gone'])
  expect(files[0]!.hunks).toEqual([
    { old_start: 1, new_start: 1, lines: [{ kind: '-', text: 'a\n' }, { kind: '-', text: '--- b' }, { kind: '+', text: 'c\r\n' }] },
  ])
  expect(files[1]!.hunks.map((h) => [h.old_start, h.new_start, h.lines.length])).toEqual([[0, 1, 1], [9, 10, 2]])
  expect(files[2]!.hunks[0]!.lines).toEqual([{ kind: '-', text: 'g\n' }])
})

test('a text that is no diff has no files', () => {
  for (const text of ['', '{"a":1}', '--- a\n', '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n', '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n-b\n+c\n'])
    expect(parse(text)).toEqual([])
})

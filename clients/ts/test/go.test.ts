import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { failure, newSite } from './rig.ts'

test("an agent at stet's own host", async () => {
  const site = await newSite()
  const folder = await site.goHost()
  await writeFile(join(folder, 'a.txt'), 'one\n')
  const agent = await site.agent({ workspace: 'go' })
  await agent.hostReady()

  const read = await agent.call('read_file', { path: 'a.txt' })
  assert.deepEqual([read.success, read.content], [true, 'one\n'])
  const envelope = await agent.call<{ status: string; data: { content: string } }>('Read', { path: 'a.txt' })
  assert.deepEqual([envelope.status, envelope.data.content], ['success', '   1 | one\n'])

  const missing = await failure(agent.call('read_file', { path: 'none' }))
  assert.equal(missing.code, 'file_not_found')
  assert.doesNotMatch(missing.message, /^file_not_found/)
  const none = await failure(agent.call('Read', { path: 'none' }))
  assert.deepEqual([none.code, none.message], ['file_not_found', "File 'none' does not exist."])
  assert.equal((await failure(agent.call('read_file', { path: '../a' }))).code, 'invalid_path')

  const waits: boolean[] = []
  const write = agent.call('write_file', { path: 'a.txt', content: 'two\n' }, { onWaiting: w => waits.push(w) })
  const q = await site.question()
  assert.match(q.diff ?? '', /^\+two$/m)
  await site.answer(q, 'approve')
  assert.equal((await write).bytes_written, 4)
  assert.deepEqual(waits, [true, false])
  assert.equal(await readFile(join(folder, 'a.txt'), 'utf8'), 'two\n')

  const no = failure(agent.call('write_file', { path: 'a.txt', content: 'three\n' }))
  await site.answer(await site.question(), 'reject', { words: 'leave it' })
  const rejected = await no
  assert.equal(rejected.code, 'user_rejected')
  assert.match(rejected.message, /leave it/)
})

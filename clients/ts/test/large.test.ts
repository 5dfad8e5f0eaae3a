import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failure, Memory, newSite } from './rig.ts'

const line = 'größe 日本 🌱\n'

test('a large content in one frame', async () => {
  const site = await newSite()
  const text = line.repeat(200_000) // 4.4 MB
  const memory = new Memory({ a: text })
  const { agent } = await site.both(memory.tools)
  assert.equal((await agent.call('read_file', { path: 'a' })).content, text)
})

test('what is larger than the gateway takes, and cannot come in parts, is refused, and the connection stays', async () => {
  const site = await newSite({ frame: 64 << 10 })
  const large = { success: true, data: { lines: Array(10_000).fill(line) } }
  const ups: boolean[] = []
  const { agent } = await site.both(
    { list_files: () => large, file_info: () => ({ success: true }) },
    { host: { onConnection: up => ups.push(up) }, agent: { onConnection: up => ups.push(up) } },
  )
  assert.equal((await failure(agent.call('list_files', {}))).code, 'file_too_large')
  assert.equal((await failure(agent.call('file_info', large))).code, 'file_too_large')
  assert.equal((await agent.call('file_info', { path: 'a' })).success, true)
  assert.deepEqual(ups, [true, true])
})

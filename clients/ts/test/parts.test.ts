import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Assembly, split } from '../src/parts.ts'
import type { Part } from '../src/wire.gen.ts'
import { failure, Memory, newSite } from './rig.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

test('a content comes out of its parts as it went in', () => {
  for (const text of ['', 'a', '\ufeffgröße 日本 🌱\u0000'.repeat(50_000)]) {
    for (const frame of [2048, 4096, 16 << 20]) {
      const all = new Assembly(100 << 20)
      for (const part of split('c', bytes(text), frame)) {
        assert.ok(JSON.stringify(part).length <= frame)
        assert.ok(!all.complete)
        all.add(part)
      }
      assert.ok(all.complete)
      assert.equal(all.text(), text)
    }
  }
})

test('parts that do not fit are refused', () => {
  const part = (seq: number, last = false): Part => ({ type: 'part', call_id: 'c', seq, data: btoa('abcd'), last })
  for (const wrong of [[1], [0, 0], [0, 2]]) {
    const all = new Assembly(100)
    assert.throws(() => wrong.forEach(seq => all.add(part(seq))), { code: 'invalid_argument' })
  }
  const whole = new Assembly(100)
  whole.add(part(0, true))
  assert.throws(() => whole.add(part(1)), { code: 'invalid_argument' })
  const small = new Assembly(7)
  small.add(part(0))
  assert.throws(() => small.add(part(1)), { code: 'file_too_large' })
})

const frame = 64 << 10
const text = 'größe 日本 🌱\n'.repeat(100_000)

test('what is larger than a frame is read and written in parts', async () => {
  const site = await newSite({ frame })
  const memory = new Memory({ a: text })
  memory.tools.write_file = call => {
    memory.files.set(call.arguments.path, call.arguments.content)
    return { success: true, bytes_written: bytes(call.arguments.content).length }
  }
  const { agent } = await site.both(memory.tools)
  assert.equal((await agent.call('read_file', { path: 'a' })).content, text)
  const wrote = await agent.call('write_file', { path: 'b', content: text + 'more' })
  assert.equal(wrote.bytes_written, bytes(text).length + 4)
  assert.equal(memory.files.get('b'), text + 'more')
})

test('parts go on over another connection', async () => {
  const site = await newSite({ frame })
  const { agent } = await site.both(new Memory({ a: text }).tools)
  const calls = Array.from({ length: 5 }, () => agent.call('read_file', { path: 'a' }))
  await site.cut('agent')
  for (const call of calls) assert.equal((await call).content, text)
})

test('a content that is too large ends its call', async () => {
  const site = await newSite({ frame })
  const { agent } = await site.both(new Memory({ a: text }).tools, {
    host: { maxContentBytes: 100_000 },
    agent: { maxContentBytes: 100_000 },
  })
  assert.equal((await failure(agent.call('read_file', { path: 'a' }))).code, 'file_too_large')
  assert.equal((await failure(agent.call('write_file', { path: 'b', content: text }))).code, 'file_too_large')
})

/** A WebSocket between sides that do not take parts. */
class Plain extends WebSocket {
  override send(data: string) {
    super.send(data.replace('"parts",', ''))
  }
  override addEventListener(type: string, listener: any) {
    const plain = (event: MessageEvent) => listener({ data: event.data.replace('"parts",', '') })
    super.addEventListener(type as 'message', type === 'message' ? plain : listener)
  }
}

test('who takes no parts is sent none: the gateway puts them together', async () => {
  const site = await newSite({ frame })
  const { agent } = await site.both(new Memory({ a: text }).tools, { agent: { WebSocket: Plain } })
  assert.equal((await agent.call('read_file', { path: 'a' })).content, text)
  assert.equal((await failure(agent.call('write_file', { path: 'b', content: text }))).code, 'file_too_large')
})

test("a large file of stet's own host is written and read in parts", async () => {
  const site = await newSite()
  const dir = await site.goHost()
  const agent = await site.agent({ workspace: 'go' })
  await agent.hostReady()
  const large = text.repeat(6) // 13 MB: more than is written or read in one piece
  const writing = agent.call('write_file', { path: 'large.txt', content: large })
  await site.answer(await site.question(), 'approve')
  assert.equal((await writing).bytes_written, bytes(large).length)
  assert.equal(await readFile(join(dir, 'large.txt'), 'utf8'), large)
  assert.equal((await agent.call('read_file', { path: 'large.txt' })).content, large)
})

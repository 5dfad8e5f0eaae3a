import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ToolError } from '../src/index.ts'
import { aborted, failure, gate, Memory, newSite } from './rig.ts'

test('an agent reads and writes, and a person decides on the write', async () => {
  const site = await newSite()
  const memory = new Memory({ 'a.txt': 'one 日本 🌱 \u0000 \ud800\n' })
  const waits: boolean[] = []
  const { agent } = await site.both(memory.tools, { agent: { onWaiting: (_, waiting) => waits.push(waiting) } })
  assert.deepEqual(agent.workspaces.get('project')?.map(t => [t.name, t.read_only ?? false]), [['read_file', true], ['write_file', false]])

  assert.equal((await agent.call('read_file', { path: 'a.txt' })).content, 'one 日本 🌱 \u0000 \ud800\n')

  const write = agent.call('write_file', { path: 'a.txt', content: 'two\n' })
  const q = await site.question()
  assert.equal(q.path, 'a.txt')
  assert.equal(q.diff, '+two\n')
  assert.equal(q.client, 'tester (workspace project)')
  assert.equal(memory.files.get('a.txt'), 'one 日本 🌱 \u0000 \ud800\n', 'nothing is written before the answer')
  await site.answer(q, 'approve', { by: 'desk' })
  assert.equal((await write).success, true)
  assert.equal(memory.files.get('a.txt'), 'two\n')
  assert.deepEqual(waits, [true, false])
})

test('a person edits, rejects and cancels', async () => {
  const site = await newSite()
  const memory = new Memory()
  const { agent } = await site.both(memory.tools)
  const write = async (verdict: string, more: object) => {
    const call = agent.call('write_file', { path: 'a.txt', content: 'two\n' }).catch((err: ToolError) => err)
    await site.answer(await site.question(), verdict, more)
    return call
  }
  await write('edit', { content: Buffer.from('drei ß\n').toString('base64') })
  assert.equal(memory.files.get('a.txt'), 'drei ß\n')
  const rejected = await write('reject', { words: 'not there' })
  assert.ok(rejected instanceof ToolError)
  assert.equal(rejected.code, 'user_rejected')
  assert.match(rejected.message, /not there/)
  const cancelled = await write('cancel', {})
  assert.ok(cancelled instanceof ToolError)
  assert.equal(cancelled.code, 'cancelled')
  assert.equal(memory.files.get('a.txt'), 'drei ß\n')
})

test('an answer to one question is none to another', async () => {
  const site = await newSite()
  const memory = new Memory()
  const { agent } = await site.both(memory.tools)
  const first = agent.call('write_file', { path: 'a.txt', content: 'two\n' })
  const one = await site.question()
  const second = failure(agent.call('write_file', { path: 'a.txt', content: 'two\n' }))
  const other = await site.question()
  await assert.rejects(site.answer({ ...one, seal: other.seal }, 'approve'))
  await site.answer(one, 'approve')
  await site.answer(other, 'reject')
  await first
  assert.equal((await second).code, 'user_rejected')
})

test('nobody answers in time, or there is nobody', async () => {
  const site = await newSite()
  const memory = new Memory()
  const { agent } = await site.both(memory.tools)
  const late = await failure(agent.call('write_file', { path: 'a', content: 'b' }, { approvalTimeoutSeconds: 1 }))
  assert.equal(late.code, 'timeout')

  const lonely = await newSite({ alone: true })
  const alone = await lonely.both(memory.tools)
  assert.equal((await failure(alone.agent.call('write_file', { path: 'a', content: 'b' }))).code, 'permission_denied')
  assert.equal(memory.files.size, 0)
})

test('a dialog of the host stops the clock, and is told of', async () => {
  const site = await newSite()
  const shown = gate()
  const told = gate()
  const { agent } = await site.both({
    write_file: async call => {
      assert.equal(call.requiresConfirmation, true)
      const yes = await call.waiting(async () => {
        await shown.passed
        return true
      })
      return { success: yes }
    },
  })
  const write = agent.call('write_file', { path: 'a', content: 'b' }, { onWaiting: waiting => waiting && told.open() })
  await told.passed
  shown.open()
  assert.equal((await write).success, true)
})

test('failures have a code and words', async () => {
  const site = await newSite()
  const odd: unknown[] = []
  const memory = new Memory({}, path => (path === 'bug' ? new RangeError('secret') : new ToolError('file_not_found', `${path} is not there`)))
  const { agent } = await site.both(
    { ...memory.tools, file_info: () => 'no object' as unknown as object },
    { host: { onOddity: (what, details) => odd.push(what, details) } },
  )
  const missing = await failure(agent.call('read_file', { path: 'x' }))
  assert.ok(missing instanceof ToolError)
  assert.equal(missing.code, 'file_not_found')
  assert.equal(missing.message, 'x is not there')
  assert.deepEqual(missing.result, { success: false, error: 'file_not_found: x is not there' })

  const broke = await failure(agent.call('read_file', { path: 'bug' }))
  assert.equal(broke.code, 'internal_error')
  assert.doesNotMatch(broke.message, /secret/)
  assert.ok(odd.some(o => o instanceof RangeError))
  assert.equal((await failure(agent.call('file_info', { path: 'x' }))).code, 'internal_error')
  assert.equal((await failure(agent.call('no_such_tool', {}))).code, 'invalid_argument')
})

test('other tools, progress and the end of a session', async () => {
  const site = await newSite()
  const ended = gate<string>()
  const said: string[] = []
  let session = ''
  const { agent, host } = await site.both(
    {},
    {
      host: {
        onSessionEnd: ended.open,
        otherTools: {
          open_tabs: {
            description: 'Lists what is open.',
            schema: { type: 'object' },
            read_only: true,
            run: call => {
              session = call.session
              call.progress('counting')
              return { success: true, data: { tabs: 2 } }
            },
          },
        },
      },
    },
  )
  assert.deepEqual(agent.workspaces.get('project'), [
    { name: 'open_tabs', description: 'Lists what is open.', schema: { type: 'object' }, read_only: true },
  ])
  const r = await agent.call('open_tabs', {}, { onProgress: message => said.push(message) })
  assert.deepEqual(r.data, { tabs: 2 })
  assert.deepEqual(said, ['counting'])
  await agent.close()
  assert.equal(await ended.passed, session)
  await host.close()
})

test('a call is cancelled', async () => {
  const site = await newSite()
  const begun = gate()
  const listing = gate()
  let stopped = false
  const { agent } = await site.both({
    read_file: async (_, signal) => {
      begun.open()
      await aborted(signal)
      stopped = true
      signal.throwIfAborted()
      return {}
    },
    list_files: async (_, signal) => {
      listing.open()
      await aborted(signal)
      return { success: true }
    },
  })
  const stop = new AbortController()
  const call = failure(agent.call('read_file', { path: 'a' }, { signal: stop.signal }))
  await begun.passed
  stop.abort()
  assert.equal((await call).code, 'cancelled')
  assert.ok(stopped)

  const again = new AbortController()
  const done = agent.call('list_files', {}, { signal: again.signal })
  await listing.passed
  again.abort()
  assert.equal((await done).success, true, 'what was done all the same is told')
  assert.equal((await failure(agent.call('read_file', { path: 'a' }, { signal: AbortSignal.abort() }))).code, 'cancelled')
})

test('a question is withdrawn when its call is cancelled', async () => {
  const site = await newSite()
  const memory = new Memory()
  const { agent } = await site.both(memory.tools)
  const stop = new AbortController()
  const call = agent.call('write_file', { path: 'a', content: 'b' }, { signal: stop.signal })
  const q = await site.question()
  stop.abort()
  assert.equal((await failure(call)).code, 'cancelled')
  assert.equal(await site.closed(q), 'withdrawn')
  assert.equal(memory.files.size, 0)
})

test('a call runs into its time', async () => {
  const site = await newSite()
  const stopped = gate()
  const { agent } = await site.both({
    read_file: async (_, signal) => {
      await aborted(signal)
      stopped.open()
      throw signal.reason
    },
  })
  assert.equal((await failure(agent.call('read_file', { path: 'a' }, { timeoutSeconds: 1 }))).code, 'timeout')
  await stopped.passed
})

test('a call is done once', async () => {
  const site = await newSite({ twice: true })
  let runs = 0
  const odd: string[] = []
  const both = gate()
  const onOddity = (what: string) => void (odd.push(what) === 2 && both.open())
  const { agent } = await site.both({ read_file: () => ({ success: true, content: `${++runs}` }) }, { host: { onOddity } })
  assert.equal((await agent.call('read_file', { path: 'a' }, { callID: 'one' })).content, '1')
  assert.equal((await failure(agent.call('read_file', { path: 'a' }, { callID: 'one' }))).code, 'invalid_argument')
  assert.equal((await agent.call('read_file', { path: 'a' })).content, '2')
  await both.passed
  assert.equal(runs, 2)
  assert.deepEqual(odd, ['a call that was begun before', 'a call that was begun before'])
})

test('close of a host ends its calls, and waits for them', async () => {
  const site = await newSite()
  const begun = gate()
  const goOn = gate()
  let done = false
  const { agent, host } = await site.both({
    read_file: async (_, signal) => {
      begun.open()
      await aborted(signal)
      await goOn.passed
      done = true
      return { success: true, content: 'late' }
    },
  })
  const call = agent.call('read_file', { path: 'a' })
  await begun.passed
  const closing = host.close()
  goOn.open()
  await closing
  assert.ok(done)
  assert.equal((await call).content, 'late')
  assert.equal((await host.closed).reason, 'closed')
  await agent.close()
  await agent.close()
  assert.equal((await failure(agent.call('read_file', { path: 'a' }))).code, 'host_unavailable')
})

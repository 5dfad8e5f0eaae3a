import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aborted, failure, gate, Memory, newSite } from './rig.ts'

test('the result of a call arrives over another connection than the call went', async () => {
  const site = await newSite()
  const begun = gate()
  const goOn = gate()
  const ups: boolean[] = []
  const back = gate()
  const { agent } = await site.both(
    {
      read_file: async () => {
        begun.open()
        await goOn.passed
        return { success: true, content: 'one' }
      },
    },
    {
      agent: {
        onConnection: up => {
          ups.push(up)
          if (ups.length === 3) back.open()
        },
      },
    },
  )
  const call = agent.call('read_file', { path: 'a' })
  await begun.passed
  await site.cut('agent')
  await back.passed
  goOn.open()
  assert.equal((await call).content, 'one')
  assert.deepEqual(ups, [true, false, true])
})

test('a call made without a connection is done when there is one', async () => {
  const site = await newSite()
  const down = gate()
  const { agent } = await site.both(new Memory({ a: 'one' }).tools, { agent: { onConnection: up => !up && down.open() } })
  await site.hold('agent')
  await down.passed
  const call = agent.call('read_file', { path: 'a' })
  await site.release('agent')
  assert.equal((await call).content, 'one')
})

test('a call that waits for a person survives its host being away', async () => {
  const site = await newSite()
  const memory = new Memory()
  const back = gate()
  let ups = 0
  const { agent } = await site.both(memory.tools, { host: { onConnection: up => up && ++ups === 2 && back.open() } })
  const write = agent.call('write_file', { path: 'a', content: 'b' })
  const q = await site.question()
  await site.cut('host')
  await back.passed
  await site.answer(q, 'approve')
  assert.equal((await write).success, true)
  assert.equal(memory.files.get('a'), 'b')
})

test('an answer and a result that come while the host is away are kept', async () => {
  const site = await newSite()
  const shown = gate()
  const decided = gate()
  const down = gate()
  const done = gate()
  let runs = 0
  const { agent } = await site.both(
    {
      write_file: async call => {
        runs++
        await call.waiting(() => (shown.open(), decided.passed))
        done.open()
        return { success: true }
      },
    },
    { host: { onConnection: up => !up && down.open() } },
  )
  const told = gate()
  const write = agent.call('write_file', { path: 'a', content: 'b' }, { onWaiting: waiting => waiting && told.open() })
  await shown.passed
  await told.passed
  await site.hold('host')
  await down.passed
  decided.open()
  await done.passed
  await site.release('host')
  assert.equal((await write).success, true)
  assert.equal(runs, 1)
})

test('a host that is lost fails its calls at once, and is there again', async () => {
  const site = await newSite()
  const begun = gate()
  const stopped = gate()
  let slow = true
  const { agent } = await site.both({
    read_file: async (_, signal) => {
      if (!slow) return { success: true, content: 'one' }
      begun.open()
      await aborted(signal)
      stopped.open()
      throw signal.reason
    },
  })
  const call = failure(agent.call('read_file', { path: 'a' }))
  await begun.passed
  await site.hold('host')
  assert.equal((await call).code, 'host_unavailable')
  await stopped.passed
  assert.equal((await failure(agent.call('read_file', { path: 'a' }))).code, 'host_unavailable')
  slow = false
  await site.release('host')
  await agent.hostReady()
  assert.equal((await agent.call('read_file', { path: 'a' })).content, 'one')
})

test('a host that is gone', async () => {
  const site = await newSite()
  const { agent, host } = await site.both(new Memory({ a: 'one' }).tools)
  await host.close()
  assert.equal((await failure(agent.call('read_file', { path: 'a' }))).code, 'host_unavailable')
  assert.equal(await site.workspaces(), null)
  await site.host(new Memory({ a: 'two' }).tools)
  await agent.hostReady('project')
  assert.equal((await agent.call('read_file', { path: 'a' })).content, 'two')
})

test('a gateway that is lost fails the calls, and the next one does more', async () => {
  const site = await newSite()
  const begun = gate()
  const stopped = gate()
  let slow = true
  const { agent } = await site.both({
    read_file: async (_, signal) => {
      if (!slow) return { success: true, content: 'one' }
      begun.open()
      await aborted(signal)
      stopped.open()
      throw signal.reason
    },
  })
  const call = failure(agent.call('read_file', { path: 'a' }))
  await begun.passed
  await site.restart()
  assert.equal((await call).code, 'host_unavailable')
  await stopped.passed
  slow = false
  for (;;) {
    await agent.hostReady()
    const again = await agent.call('read_file', { path: 'a' }).then(r => r.content, err => err.code)
    if (again === 'one') break
    assert.equal(again, 'host_unavailable')
    await new Promise(resolve => setTimeout(resolve, 20))
  }
})

test('nothing is lost and nothing done twice over an agent that is cut off again and again', async () => {
  const site = await newSite()
  const runs = new Map<string, number>()
  const { agent } = await site.both({
    read_file: call => {
      runs.set(call.arguments.path, (runs.get(call.arguments.path) ?? 0) + 1)
      return { success: true, content: call.arguments.path + 'x'.repeat(10_000) }
    },
  })
  const calls: Promise<string | undefined>[] = []
  for (let i = 0; i < 200; i++) {
    calls.push(agent.call('read_file', { path: `${i}` }).then(r => r.content))
    if (i % 40 === 39) await site.cut('agent')
  }
  const all = await Promise.all(calls)
  all.forEach((content, i) => assert.equal(content, i + 'x'.repeat(10_000)))
  assert.equal(runs.size, 200)
  assert.ok([...runs.values()].every(n => n === 1))
})

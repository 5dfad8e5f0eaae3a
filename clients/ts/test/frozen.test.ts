import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gate, Memory, newSite } from './rig.ts'

// A connection that is dead and does not know it: a WebSocket of a browser cannot
// be asked whether it lives.
test('a gateway that says nothing any more is left', async t => {
  const site = await newSite()
  await site.host(new Memory({ a: 'one' }).tools)
  t.mock.timers.enable({ apis: ['setInterval'] }) // of the agent alone
  const ups: boolean[] = []
  const back = gate()
  const onConnection = (up: boolean) => (ups.push(up), ups.length === 3 && back.open())
  const agent = await site.agent({ onConnection })
  await agent.hostReady('project')
  t.mock.timers.tick(40_000)
  assert.equal((await agent.call('read_file', { path: 'a' })).content, 'one')
  t.mock.timers.tick(40_000)
  assert.deepEqual(ups, [true], 'it has spoken meanwhile')
  await site.freeze('agent')
  t.mock.timers.tick(20_000)
  assert.deepEqual(ups, [true, false])
  await back.passed
  t.mock.timers.reset() // the host's interval is a real one, and has to end
  assert.equal((await agent.call('read_file', { path: 'a' })).content, 'one')
})

test('a result that is overdue is fetched over another connection', async t => {
  const site = await newSite()
  const ups: boolean[] = []
  const back = gate()
  const { agent } = await site.both(new Memory({ a: 'one' }).tools, {
    agent: {
      onConnection: up => {
        ups.push(up)
        if (ups.length === 3) back.open()
      },
    },
  })
  await site.freeze('agent')
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const call = agent.call('read_file', { path: 'a' }, { timeoutSeconds: 60 })
  t.mock.timers.tick(60_000)
  assert.deepEqual(ups, [true], 'it has its time')
  t.mock.timers.tick(10_000)
  assert.deepEqual(ups, [true, false])
  await new Promise(resolve => setImmediate(resolve)) // the next try is set
  t.mock.timers.tick(1000)
  await back.passed
  t.mock.timers.reset()
  assert.equal((await call).content, 'one')
})

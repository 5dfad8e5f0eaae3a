import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gate, Memory, newSite } from './house.ts'

// A connection that is dead and does not know it: a WebSocket of a browser cannot
// be asked whether it lives.
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

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { GatewayError } from '../src/index.ts'
import { Memory, newSite } from './rig.ts'

/** What a connection is refused with. */
async function refusal(connecting: Promise<unknown>): Promise<GatewayError> {
  const err = await connecting.then(() => assert.fail('it is connected'), err => err)
  assert.ok(err instanceof GatewayError, `${err}`)
  return err
}

/** A WebSocket that says other things than the client wants. */
function changed(headers: Record<string, string>, change = (text: string) => text) {
  return class extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, { protocols, headers } as never) // Node takes headers
    }
    override send(data: string) {
      super.send(change(data))
    }
  }
}

test('a token that is wrong', async () => {
  const site = await newSite()
  for (const token of ['stet_wrong', 'with space', '']) {
    assert.equal((await refusal(site.host({}, { token }))).reason, 'token')
    assert.equal((await refusal(site.agent({ token }))).reason, 'token')
  }
  const scope = await refusal(site.agent({ token: site.token.host }))
  assert.equal(scope.reason, 'forbidden')
  assert.match(scope.message, /role agent/)
})

test('a token that is revoked', async () => {
  const site = await newSite()
  const agent = await site.agent()
  await site.revoke('agent')
  assert.equal((await agent.closed).reason, 'token')
})

test('another version of the protocol', async () => {
  const site = await newSite()
  const odd = changed({}, text => text.replace('"version":1', '"version":99'))
  const err = await refusal(site.host({}, { WebSocket: odd }))
  assert.equal(err.reason, 'version')
  assert.match(err.message, /99/)
})

test('an origin that is refused', async () => {
  const site = await newSite()
  const origin = await refusal(site.agent({ WebSocket: changed({ Origin: 'https://elsewhere.example' }) }))
  assert.equal(origin.reason, 'forbidden')
  assert.match(origin.message, /origin/)
})

test('a workspace that another has, and a name that is none', async () => {
  const site = await newSite()
  const first = await site.host(new Memory().tools)
  assert.equal((await refusal(site.host({}, { token: site.token.rival }))).reason, 'taken')
  await site.host({}) // with the same token it takes over
  const end = await first.closed
  assert.equal(end.reason, 'taken')
  assert.match(end.message, /^another host/)
  const name = await refusal(site.host({}, { workspace: 'a/b' }))
  assert.equal(name.reason, 'forbidden')
  assert.match(name.message, /letters/)
})

test('tools that are more than the gateway takes', async () => {
  const site = await newSite({ frame: 64 << 10 })
  const description = 'x'.repeat(500_000)
  const many = { other: { description, schema: { type: 'object' }, run: () => ({}) } }
  assert.equal((await refusal(site.host({}, { otherTools: many }))).reason, 'large')
})

test('no gateway', async () => {
  const server = createServer((_, res) => res.writeHead(404).end())
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const site = await newSite()
  const port = (server.address() as AddressInfo).port
  assert.equal((await refusal(site.agent({ url: `http://127.0.0.1:${port}` }))).reason, 'url')
  assert.equal((await refusal(site.agent({ url: 'nothing' }))).reason, 'url')
  assert.equal((await refusal(site.agent({ url: 'ftp://127.0.0.1' }))).reason, 'url')
  await new Promise(resolve => server.close(resolve))

  const stop = new AbortController()
  let tries = 0
  const onOddity = () => void (++tries === 2 && stop.abort())
  await assert.rejects(site.agent({ url: `http://127.0.0.1:${port}`, signal: stop.signal, onOddity }), { name: 'AbortError' })
})

test('a gateway below a path, by a WebSocket that is given', async () => {
  const site = await newSite({ path: '/stet' })
  const sent: string[] = []
  const given = changed({}, text => (sent.push(text), text))
  const host = await site.host(new Memory({ a: 'one' }).tools)
  const agent = await site.agent({ url: site.url.agent.replace('http', 'ws') + '/', WebSocket: given })
  await agent.hostReady()
  assert.equal((await agent.call('read_file', { path: 'a' })).content, 'one')
  assert.deepEqual(sent.map(s => JSON.parse(s).type), ['hello', 'tool_call'])
  await host.close()
})

// Runs an SDK of the MCP project as the client of a server, and prints what
// it saw as JSON:
//
//	client.mjs NODE_MODULES sdk|client legacy|2026-07-28 URL TOKEN
//	client.mjs NODE_MODULES sdk|client legacy|2026-07-28 COMMAND
//
// "sdk" is the first generation (@modelcontextprotocol/sdk), "client" the
// second (@modelcontextprotocol/client).
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'

const [modules, generation, revision, target, token] = process.argv.slice(2)
const load = (...path) => import(pathToFileURL(join(modules, '@modelcontextprotocol', ...path)).href)

async function sdk() {
  if (generation === 'sdk') {
    const types = await load('sdk', 'dist', 'esm', 'types.js')
    return {
      ...(await load('sdk', 'dist', 'esm', 'client', 'index.js')),
      ...(await load('sdk', 'dist', 'esm', 'client', 'stdio.js')),
      ...(await load('sdk', 'dist', 'esm', 'client', 'streamableHttp.js')),
      call: (client, params, options) => client.callTool(params, undefined, options),
      onElicit: (client, f) => client.setRequestHandler(types.ElicitRequestSchema, f),
    }
  }
  return {
    ...(await load('client', 'dist', 'index.mjs')),
    ...(await load('client', 'dist', 'stdio.mjs')),
    call: (client, params, options) => client.callTool(params, options),
    onElicit: (client, f) => client.setRequestHandler('elicitation/create', f),
  }
}

const s = await sdk()

async function connect(capabilities) {
  const client = new s.Client({ name: generation, version: '1' }, {
    capabilities,
    ...(revision === 'legacy' ? {} : { versionNegotiation: { mode: { pin: revision } } }),
  })
  const transport = token
    ? new s.StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: { Authorization: `Bearer ${token}` } } })
    : new s.StdioClientTransport({ command: target, env: { ...process.env } })
  return { client, transport }
}

const seen = { asked: [] }
const { client, transport } = await connect({ elicitation: { form: {} } })
let answer
s.onElicit(client, request => {
  seen.asked.push(request.params.message)
  return answer
})
await client.connect(transport)
seen.server = client.getServerVersion().name
seen.tools = (await client.listTools()).tools.map(t => t.name)
const text = result => {
  if (result.content.length !== 1 || result.structuredContent) throw new Error('content is not sent once')
  return { failed: !!result.isError, ...JSON.parse(result.content[0].text) }
}
seen.echo = text(await s.call(client, { name: 'echo', arguments: { text: 'é\u0000\u2028日本 🌱' } }))
seen.error = text(await s.call(client, { name: 'test_error_handling', arguments: {} }))
answer = { action: 'accept', content: { approve: true } }
seen.approved = text(await s.call(client, { name: 'write', arguments: {} }))
answer = { action: 'decline' }
seen.declined = text(await s.call(client, { name: 'write', arguments: {} }))
seen.progress = 0
await s.call(client, { name: 'test_tool_with_progress', arguments: {} }, { onprogress: () => { seen.progress++ } })
const stop = new AbortController()
setTimeout(() => stop.abort(), 200)
seen.cancelled = await s.call(client, { name: 'test_tool_with_progress', arguments: {} }, { signal: stop.signal }).then(() => false, () => true)
await client.close()

// This client cannot ask its user, so a person elsewhere approves.
const plain = await connect({})
await plain.client.connect(plain.transport)
seen.pending = text(await s.call(plain.client, { name: 'write', arguments: {} }))
const awaited = s.call(plain.client, { name: 'await_result', arguments: { pending: seen.pending.pending } })
await s.call(plain.client, { name: 'agree', arguments: {} })
seen.awaited = text(await awaited)
await plain.client.close()
console.log(JSON.stringify(seen))

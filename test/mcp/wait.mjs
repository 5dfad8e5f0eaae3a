// Makes a server write a file over MCP with the SDK's default time-outs, and waits
// until a person has decided. It prints what it saw as JSON:
//
//	wait.mjs NODE_MODULES sdk|client legacy|2026-07-28 progress|silent URL TOKEN PATH
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'

const [modules, generation, revision, hears, url, token, path] = process.argv.slice(2)
const load = (...path) => import(pathToFileURL(join(modules, '@modelcontextprotocol', ...path)).href)
const { Client } = generation === 'sdk' ? await load('sdk', 'dist', 'esm', 'client', 'index.js') : await load('client', 'dist', 'index.mjs')
const { StreamableHTTPClientTransport } = generation === 'sdk'
  ? await load('sdk', 'dist', 'esm', 'client', 'streamableHttp.js') : await load('client', 'dist', 'index.mjs')

const client = new Client({ name: 'waiter', version: '1' }, revision === 'legacy' ? {} : { versionNegotiation: { mode: { pin: revision } } })
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }))
const seen = { tools: (await client.listTools()).tools.map(t => t.name), requests: 0, progress: 0, longest: 0 }
const options = hears === 'progress' ? { onprogress: () => { seen.progress++ }, resetTimeoutOnProgress: true } : {}
let params = { name: 'write_file', arguments: { path, content: 'new\n' } }
for (;;) {
  const begun = Date.now()
  const result = await (generation === 'sdk' ? client.callTool(params, undefined, options) : client.callTool(params, options))
  seen.requests++
  seen.longest = Math.max(seen.longest, Math.round((Date.now() - begun) / 1000))
  seen.text = result.content[0].text
  const { pending } = JSON.parse(seen.text)
  if (!pending) break
  params = { name: 'await_result', arguments: { pending } }
}
console.log(JSON.stringify(seen))
await client.close()

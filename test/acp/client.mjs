// Runs an agent with the protocol's own SDK, as an editor does, and prints what
// it saw as JSON:
//
//	client.mjs NODE_MODULES WORKSPACE COMMAND ARGUMENT...
//
// The first question is answered with leave, the second with a rejection.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'

const [modules, cwd, command, ...args] = process.argv.slice(2)
const acp = await import(pathToFileURL(join(modules, '@agentclientprotocol', 'sdk', 'dist', 'v1', 'stable', 'acp.js')).href)
const { agent, client } = acp.methods

// run starts the agent, lets op work with it, and waits for its end.
async function run(seen, op) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise(resolve => child.on('exit', resolve))
  const app = acp.client({ name: 'npm client' })
    .onRequest(client.session.requestPermission, ({ params }) => {
      seen.asked.push(params)
      const kind = seen.asked.length === 1 ? 'allow_once' : 'reject_once'
      return { outcome: { outcome: 'selected', optionId: params.options.find(o => o.kind === kind).optionId } }
    })
    .onRequest(client.fs.readTextFile, ({ params }) => {
      seen.read.push(params.path)
      return { content: 'one\ntwo\nthree\n' }
    })
    .onNotification(client.session.update, ({ params }) => { seen.updates.push(params.update) })
  await app.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), op)
  child.stdin.end()
  seen.exit = await ended
  return seen
}

const fresh = () => ({ asked: [], read: [], updates: [] })
const hello = ctx => ctx.request(agent.initialize, {
  protocolVersion: acp.PROTOCOL_VERSION,
  clientInfo: { name: 'npm client', version: '1' },
  clientCapabilities: { fs: { readTextFile: true, writeTextFile: false } },
})
const failure = async promise => {
  try {
    await promise
  } catch (e) {
    return { code: e.code, message: e.message }
  }
  return { code: 0, message: '' }
}
const text = (updates, kind) => updates.filter(u => u.sessionUpdate === kind).map(u => u.content.text).join('')

const report = {}
let session
const first = await run(fresh(), async ctx => {
  const greeting = await hello(ctx)
  report.name = greeting.agentInfo.name
  report.version = greeting.protocolVersion
  const opened = await ctx.request(agent.session.new, { cwd, mcpServers: [{ name: 'x', command: '/bin/true', args: [], env: [] }] })
  session = opened.sessionId
  report.modes = opened.modes.availableModes.map(m => m.id)
  const answer = await ctx.request(agent.session.prompt, { sessionId: session, prompt: [
    { type: 'text', text: 'louder, please' },
    { type: 'resource_link', name: 'a.txt', uri: pathToFileURL(join(cwd, 'a.txt')).href },
  ] })
  report.stop = answer.stopReason
  report.unknownMethod = await failure(ctx.request('no/such', {}))
  report.unknownSession = await failure(ctx.request(agent.session.prompt, { sessionId: 'none', prompt: [{ type: 'text', text: 'x' }] }))
  report.outside = await failure(ctx.request(agent.session.new, { cwd: join(cwd, 'none'), mcpServers: [] }))
})
report.said = text(first.updates, 'agent_message_chunk')
report.thought = text(first.updates, 'agent_thought_chunk')
report.commands = first.updates.find(u => u.sessionUpdate === 'available_commands_update')?.availableCommands.map(c => c.name)
report.kinds = [...new Set(first.updates.map(u => u.sessionUpdate))].sort()
report.asked = first.asked.map(p => ({ diff: p.toolCall.content[0], options: p.options.map(o => o.kind) }))
report.statuses = first.updates.filter(u => u.sessionUpdate === 'tool_call_update' && u.status).map(u => u.status)
report.read = first.read
report.exit = first.exit

const second = await run(fresh(), async ctx => {
  await hello(ctx)
  const listed = await ctx.request(agent.session.list, { cwd })
  report.listed = listed.sessions.map(s => s.sessionId === session)
  await ctx.request(agent.session.load, { sessionId: session, cwd, mcpServers: [] })
  const prompt = ctx.request(agent.session.prompt, { sessionId: session, prompt: [{ type: 'text', text: 'stop at once' }] })
  await ctx.notify(agent.session.cancel, { sessionId: session })
  report.cancelled = (await prompt).stopReason
})
report.loaded = text(second.updates, 'agent_message_chunk')
report.person = text(second.updates, 'user_message_chunk')
console.log(JSON.stringify(report))

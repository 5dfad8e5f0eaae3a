// The requests of the tests to the program that runs their gateways: test/clients.
import assert from 'node:assert/strict'
import { afterEach } from 'node:test'
import { connectAgent, connectHost, type Agent, type AgentOptions, type Host, type HostOptions, type ToolError } from '../src/index.ts'

/** What is connected. It is closed when its test ends, however that ends. */
const connected: { close(): Promise<void> }[] = []
afterEach(async () => void (await Promise.all(connected.splice(0).map(c => c.close()))))

async function keep<T extends { close(): Promise<void> }>(connecting: Promise<T>): Promise<T> {
  const c = await connecting
  connected.push(c)
  return c
}

type Role = 'agent' | 'host' | 'rival'

export interface Question {
  id: string
  path: string
  diff?: string
  client: string
  seal: string
  content?: string
}

/** A gateway of the test's own. */
export class Site {
  id!: number
  direct!: string
  url!: Record<Role, string>
  token!: Record<Role, string>

  /** The connections of a role are reset. */
  cut = (role: Role) => this.order('cut', role)
  /** Likewise, and no new ones come about until release. */
  hold = (role: Role) => this.order('hold', role)
  release = (role: Role) => this.order('release', role)
  /** Nothing passes any more over the connections of a role, which stay open. */
  freeze = (role: Role) => this.order('freeze', role)
  /** Another gateway takes the place of this one. */
  restart = () => this.order('restart')
  revoke = (role: Role) => this.order('revoke', role)
  workspaces = (): Promise<string[] | null> => this.order('workspaces')
  /** Starts stet's own host, of workspace `go`, and returns its folder. */
  goHost = (): Promise<string> => this.order('host')
  /** Waits for the next question to the gateway's people. */
  question = (): Promise<Question> => this.order('question')
  /** Waits for the end of a question, and says how that came. */
  closed = (q: Question): Promise<string> => this.order('closed', q.id)
  answer = (q: Question, verdict: string, more: object = {}) =>
    this.order('answer', JSON.stringify({ id: q.id, seal: q.seal, verdict, ...more }))

  agent(options: Partial<AgentOptions> = {}): Promise<Agent> {
    return keep(connectAgent({ url: this.url.agent, token: this.token.agent, client: 'tester', ...options }))
  }

  host(tools: HostOptions['tools'], options: Partial<HostOptions> = {}): Promise<Host> {
    return keep(connectHost({ url: this.url.host, token: this.token.host, workspace: 'project', tools, ...options }))
  }

  /** An agent and a host, connected until the test ends. */
  async both(tools: HostOptions['tools'], options: { host?: Partial<HostOptions>; agent?: Partial<AgentOptions> } = {}) {
    const host = await this.host(tools, options.host)
    const agent = await this.agent(options.agent)
    await agent.hostReady('project')
    return { host, agent }
  }

  async order(what: string, body = ''): Promise<any> {
    const answer = await fetch(`${process.env.STET_HOUSE}/sites/${this.id}/${what}`, { method: 'POST', body })
    assert.ok(answer.ok, `${what}: ${answer.status}`)
    return answer.json()
  }
}

export async function newSite(wish: { frame?: number; twice?: boolean; alone?: boolean; path?: string } = {}): Promise<Site> {
  const answer = await fetch(`${process.env.STET_HOUSE}/sites`, { method: 'POST', body: JSON.stringify(wish) })
  return Object.assign(new Site(), await answer.json())
}

/** Something that is waited for. */
export function gate<T = void>(): { open: (value: T) => void; passed: Promise<T> } {
  let open!: (value: T) => void
  const passed = new Promise<T>(resolve => (open = resolve))
  return { open, passed }
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve())))
}

/** What a call fails with. */
export async function failure(call: Promise<unknown>): Promise<ToolError> {
  return call.then(
    result => assert.fail(`it succeeded: ${JSON.stringify(result)}`),
    err => err,
  )
}

/** A workspace in memory, whose writes ask the gateway's people. */
export class Memory {
  files = new Map<string, string>()
  tools: HostOptions['tools']

  constructor(files: Record<string, string> = {}, missing: (path: string) => Error = path => new Error(path)) {
    this.files = new Map(Object.entries(files))
    this.tools = {
      read_file: call => {
        const content = this.files.get(call.arguments.path)
        if (content === undefined) throw missing(call.arguments.path)
        return { success: true, content }
      },
      write_file: async call => {
        const { path, content } = call.arguments
        const decided = await call.ask({ path, size: content.length, diff: `+${content}`, content })
        this.files.set(path, decided.content ?? content)
        return { success: true, bytes_written: content.length }
      },
    }
  }
}

import type { Dial } from './dial.ts'
import { GatewayError, ToolError } from './errors.ts'
import { Assembly, newID, split, tooLarge, Window } from './parts.ts'
import { Session } from './session.ts'
import type { Code } from './tools.gen.ts'
import type { Event, Frame, Part, Tool, ToolCall, ToolResult } from './wire.gen.ts'

export interface AgentOptions extends Dial {
  /** Where the calls go; the only workspace that there is if left out. */
  workspace?: string
  /** The client session: limits, grants and undo go by it. Made up if left out. */
  session?: string
  /** How large a content may be that comes in parts, in bytes; 100 MB if left out. */
  maxContentBytes?: number
  /** Told when a call begins to wait for a person, and when it goes on. */
  onWaiting?: (callID: string, waiting: boolean) => void
  /** Told when the workspaces that can be called have changed. */
  onWorkspaces?: () => void
}

export interface CallOptions {
  /** How long it may take, a person's time apart; 30 if left out. */
  timeoutSeconds?: number
  /** How long a person may take; 600 if left out. */
  approvalTimeoutSeconds?: number
  /** Ends the call. It still comes to what its host says: done, or cancelled. */
  signal?: AbortSignal
  /** One of several client sessions on this connection. */
  session?: string
  /** Made up if left out. A call is done once. */
  callID?: string
  onWaiting?: (waiting: boolean) => void
  onProgress?: (message: string) => void
}

/** What the file tools come to, `Read` apart. */
export interface FileOperationResult {
  success: boolean
  content?: string
  lines_read?: number
  bytes_written?: number
  backup_path?: string
  data?: Record<string, unknown>
}

/** How many characters a call may have in one frame where it may go in parts: hosts take less in one piece. */
const inOne = 4 << 20
/** How long calls go on without a connection, and how long a cancelled one has to say what became of it, in ms. */
const away = 30_000
const settling = 4_000
/** How long after its time a call's result may come, before the connection is taken for dead, in ms. */
const grace = 10_000

const unknown = 'Whether the call was done is not known: look before you repeat it.'

/** A call that waits for its result. */
interface Pending {
  id: string
  resolve(result: Record<string, unknown>): void
  reject(err: ToolError): void
  options: CallOptions
  waiting: boolean
  content: Assembly
  sent: Window
  overdue?: ReturnType<typeof setTimeout>
}

/**
 * Connects an agent to a gateway. Resolves when it is connected, however long that
 * takes (see the option signal), and rejects with a GatewayError when the gateway
 * refuses.
 */
export async function connectAgent(options: AgentOptions): Promise<Agent> {
  const agent = new Agent(options)
  await agent.start()
  return agent
}

/** An agent: it makes calls. */
export class Agent {
  /** Resolves when the agent is over for good, to the reason. */
  readonly closed: Promise<GatewayError>
  /** The workspaces that can be called now, with their tools. */
  readonly workspaces = new Map<string, Tool[]>()

  #options: AgentOptions
  #session: Session
  #pending = new Map<string, Pending>()
  #changed: (() => void)[] = []
  #absence?: ReturnType<typeof setTimeout>
  #state?: string // why no calls can be made

  /** @internal See connectAgent. */
  constructor(options: AgentOptions) {
    this.#options = options
    const hello = {
      role: 'agent',
      client: options.client ?? 'stet client',
      workspace: options.workspace,
      session: options.session,
      capabilities: ['resume', 'progress', 'parts', 'event'],
    }
    this.#session = new Session(options, hello, {
      fresh: () => {
        this.workspaces.clear()
        this.#fail(`The gateway has lost the session. ${unknown}`)
      },
      up: () => {
        clearTimeout(this.#absence)
        this.#state = undefined
      },
      down: () => {
        this.#absence = setTimeout(() => {
          this.#state = 'the connection was lost'
          this.#fail(`The connection to the gateway was lost. ${unknown}`)
        }, away)
      },
      frame: frame => this.#frame(frame),
      over: why => {
        clearTimeout(this.#absence)
        this.#state = why.message
        this.workspaces.clear()
        this.#fail(`The connection to the gateway is over: ${why.message}. ${unknown}`)
        this.#change()
      },
    })
    this.closed = this.#session.closed
  }

  /** @internal */
  start(): Promise<void> {
    return this.#session.start()
  }

  /** Ends the connection, and the calls that are under way. */
  close(): Promise<void> {
    return this.#session.close()
  }

  /** Resolves when the workspace, or any, can be called. */
  async hostReady(workspace = this.#options.workspace): Promise<void> {
    while (workspace === undefined ? this.workspaces.size === 0 : !this.workspaces.has(workspace)) {
      if (this.#state) throw new ToolError('host_unavailable', `The gateway cannot be reached: ${this.#state}.`)
      await new Promise<void>(resolve => this.#changed.push(resolve))
    }
  }

  /**
   * Makes a call. Rejects with a ToolError that has the code, also when the gateway
   * cannot be reached: that is `host_unavailable`.
   */
  async call<T = FileOperationResult>(tool: string, args: object, options: CallOptions = {}): Promise<T> {
    if (this.#state) throw new ToolError('host_unavailable', `The gateway cannot be reached: ${this.#state}.`)
    if (options.signal?.aborted) throw new ToolError('cancelled', 'The call was cancelled. Nothing was done.')
    const id = options.callID ?? newID()
    if (this.#pending.has(id)) throw new ToolError('invalid_argument', 'A call with this id is under way.')
    const frame: ToolCall = {
      type: 'tool_call',
      call_id: id,
      tool_name: tool,
      arguments: args as Record<string, unknown>,
      requires_confirmation: false,
      timeout_seconds: options.timeoutSeconds,
      approval_timeout_seconds: options.approvalTimeoutSeconds,
      session: options.session,
    }
    const frames = this.#frames(frame)
    return new Promise<Record<string, unknown>>((resolve, reject) => {
      const content = new Assembly(this.#options.maxContentBytes ?? 100 << 20)
      const pending: Pending = { id, resolve, reject, options, waiting: false, content, sent: new Window() }
      this.#pending.set(id, pending)
      this.#watch(pending)
      const cancel = () => this.#cancel(pending)
      options.signal?.addEventListener('abort', cancel)
      pending.resolve = result => (options.signal?.removeEventListener('abort', cancel), resolve(result))
      pending.reject = err => (options.signal?.removeEventListener('abort', cancel), reject(err))
      void this.#send(pending, frames)
    }) as Promise<T>
  }

  /** The frames of a call: one, or its content in parts behind it. */
  #frames(call: ToolCall): { call: string; content?: string } {
    const limit = this.#session.reply?.limits?.frame_bytes
    const text = JSON.stringify(call)
    if (!limit || (text.length <= inOne && !tooLarge(text, limit))) return { call: text }
    const { content, ...rest } = call.arguments
    const short = JSON.stringify({ ...call, arguments: rest, parts_follow: true })
    if (typeof content !== 'string' || !this.#session.can('parts') || tooLarge(short, limit)) {
      if (!tooLarge(text, limit)) return { call: text }
      throw new ToolError('file_too_large', 'The call is larger than the gateway takes. Nothing was done.')
    }
    return { call: short, content }
  }

  async #send(p: Pending, frames: { call: string; content?: string }) {
    this.#session.sendText(frames.call)
    if (frames.content === undefined) return
    for (const part of split(p.id, new TextEncoder().encode(frames.content), this.#session.reply!.limits!.frame_bytes)) {
      await p.sent.room(part.seq)
      await this.#session.room()
      if (this.#pending.get(p.id) !== p) return // it has ended
      this.#session.send(part)
    }
  }

  #cancel(p: Pending) {
    this.#session.send({ type: 'cancel', call_id: p.id, reason: 'caller' })
    clearTimeout(p.overdue)
    p.overdue = setTimeout(() => this.#end(p.id)?.reject(new ToolError('cancelled', `The call was cancelled. ${unknown}`)), settling)
  }

  /**
   * The gateway ends every call in its time. If it does not, the connection is dead:
   * another one brings the result, or the call fails.
   */
  #watch(p: Pending) {
    clearTimeout(p.overdue)
    const { timeoutSeconds, approvalTimeoutSeconds } = p.options
    const time = 1000 * (p.waiting ? approvalTimeoutSeconds || 600 : timeoutSeconds || 30) + grace
    p.overdue = setTimeout(() => {
      this.#session.restart('a result is overdue')
      p.overdue = setTimeout(() => this.#end(p.id)?.reject(new ToolError('host_unavailable', `The gateway does not answer. ${unknown}`)), away)
    }, Math.min(time, 2 ** 31 - 1))
  }

  #frame(frame: Frame) {
    switch (frame.type) {
      case 'tool_result':
        if (frame.needs_confirmation && !frame.result && !frame.error) return this.#waits(frame.call_id, true)
        return this.#result(frame)
      case 'progress':
        this.#waits(frame.call_id, frame.state === 'waiting')
        if (frame.message) this.#pending.get(frame.call_id)?.options.onProgress?.(frame.message)
        return
      case 'part':
        return this.#part(frame)
      case 'taken':
        return this.#pending.get(frame.call_id)?.sent.take(frame.seq)
      case 'event':
        return this.#event(frame)
      case 'error':
        this.#odd('the gateway complains', frame.message)
        if (frame.call_id) this.#end(frame.call_id)?.reject(new ToolError(frame.code as Code, frame.message))
        return
    }
    this.#odd('a frame that is not for an agent', frame.type)
  }

  #waits(id: string, waiting: boolean) {
    const p = this.#pending.get(id)
    if (!p || p.waiting === waiting) return
    p.waiting = waiting
    if (!p.options.signal?.aborted) this.#watch(p)
    p.options.onWaiting?.(waiting)
    this.#options.onWaiting?.(id, waiting)
  }

  #part(part: Part) {
    const p = this.#pending.get(part.call_id)
    if (!p) return this.#odd('a part of no call', part.call_id)
    try {
      p.content.add(part)
      this.#session.send({ type: 'taken', call_id: p.id, seq: part.seq })
    } catch (err) {
      this.#session.send({ type: 'cancel', call_id: p.id, reason: 'caller' })
      this.#end(p.id)?.reject(err as ToolError)
    }
  }

  #result(frame: ToolResult) {
    const p = this.#end(frame.call_id)
    if (!p) return this.#odd('a result that is late, or of no call', frame.call_id)
    const result = frame.result ?? {}
    if (frame.error) return p.reject(new ToolError(frame.error as Code, message(frame.error, result), result))
    if (p.content.complete) result.content = p.content.text()
    else if (p.content.begun) return p.reject(new ToolError('internal_error', 'the host did not send all of the content'))
    p.resolve(result)
  }

  #event(event: Event) {
    const workspace = event.workspace ?? ''
    if (event.event === 'host_up') this.workspaces.set(workspace, event.tools ?? [])
    else if (event.event === 'host_down') this.workspaces.delete(workspace)
    else return
    this.#change()
  }

  #change() {
    for (const go of this.#changed.splice(0)) go()
    this.#options.onWorkspaces?.()
  }

  /** Takes a call out that has ended. */
  #end(id: string): Pending | undefined {
    const p = this.#pending.get(id)
    this.#pending.delete(id)
    clearTimeout(p?.overdue)
    p?.sent.end()
    return p
  }

  /** Ends all calls. */
  #fail(why: string) {
    for (const id of [...this.#pending.keys()]) this.#end(id)?.reject(new ToolError('host_unavailable', why))
  }

  #odd(what: string, details: unknown) {
    this.#options.onOddity?.(what, details)
  }
}

/** What a failed result says: a FileOperationResult, or the envelope of Read. */
function message(code: string, result: Record<string, unknown>): string {
  const { error } = result as { error?: string | { message?: string } }
  if (typeof error === 'string') return error.startsWith(`${code}: `) ? error.slice(code.length + 2) : error
  return error?.message ?? code
}

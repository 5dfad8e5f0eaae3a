import { Call, Desk } from './call.ts'
import type { Dial } from './dial.ts'
import { GatewayError, ToolError } from './errors.ts'
import { Assembly, split, tooLarge, Window } from './parts.ts'
import { Session } from './session.ts'
import { fileTools, type FileTools } from './tools.gen.ts'
import type { Frame, Part, Tool, ToolCall, ToolResult } from './wire.gen.ts'

/**
 * Does a call, and returns its result: `{ success: true, … }`. It throws a ToolError
 * for what the agent can act on. The signal aborts when the result is no longer
 * needed. If nothing was done by then, throw its reason (`signal.throwIfAborted()`); if the
 * call was done, return the result. Calls run at the same time.
 */
export type Handler<A> = (call: Call<A>, signal: AbortSignal) => object | Promise<object>

/** A tool that is none of the file tools. */
export interface OtherTool extends Omit<Tool, 'name'> {
  run: Handler<Record<string, unknown>>
}

export interface HostOptions extends Dial {
  /** The name that the workspace goes by at the gateway. */
  workspace: string
  /** File tools, by name: the gateway knows what they are. */
  tools: { [Name in keyof FileTools]?: Handler<FileTools[Name]> }
  /** Other tools, by name. */
  otherTools?: Record<string, OtherTool>
  /** How large a content may be that comes in parts, in bytes; 100 MB if left out. */
  maxContentBytes?: number
  /** Told that a client session is over, and with it what it was granted. */
  onSessionEnd?: (session: string) => void
}

/** How long calls that wait for a person go on without a connection, in ms. */
const away = 30_000
/** How many calls are remembered, so that none is done twice. */
const remembered = 8192

/** A call under way. */
interface Task {
  call: Call
  stop: AbortController
  content?: Assembly
  /** Of the content of its result. */
  sent: Window
  /** Its caller takes parts. */
  takesParts: boolean
  /** Its result is no longer needed. */
  lost: boolean
}

/**
 * Connects a host to a gateway. Resolves when it is connected, however long that
 * takes (see the option signal), and rejects with a GatewayError when the gateway
 * refuses.
 */
export async function connectHost(options: HostOptions): Promise<Host> {
  const host = new Host(options)
  await host.start()
  return host
}

/** A host: it does the calls to one workspace. */
export class Host {
  /** Resolves when the host is over for good, to the reason. */
  readonly closed: Promise<GatewayError>

  #options: HostOptions
  #session: Session
  #desk: Desk
  #handlers = new Map<string, Handler<any>>()
  #tasks = new Map<string, Task>()
  #running = new Set<Promise<void>>()
  #begun = new Set<string>()
  #absence?: ReturnType<typeof setTimeout>
  #closing = false

  /** @internal See connectHost. */
  constructor(options: HostOptions) {
    this.#options = options
    const tools: Tool[] = []
    for (const [name, run] of Object.entries(options.tools)) {
      tools.push(fileTools[name as keyof FileTools])
      this.#handlers.set(name, run)
    }
    for (const [name, { run, ...about }] of Object.entries(options.otherTools ?? {})) {
      tools.push({ name, ...about })
      this.#handlers.set(name, run)
    }
    const hello = {
      role: 'host',
      client: options.client ?? 'stet client',
      workspace: options.workspace,
      tools,
      capabilities: ['resume', 'cancel', 'progress', 'parts', 'approval', 'event'],
    }
    this.#session = new Session(options, hello, {
      fresh: () => this.#give(true),
      up: () => clearTimeout(this.#absence),
      down: () => {
        this.#give(false)
        this.#absence = setTimeout(() => this.#give(true), away)
      },
      frame: frame => this.#frame(frame),
      over: () => {
        clearTimeout(this.#absence)
        this.#give(true)
      },
    })
    this.closed = this.#session.closed
    this.#desk = new Desk(this.#session)
  }

  /** @internal */
  start(): Promise<void> {
    return this.#session.start()
  }

  /**
   * Ends the host: takes no more calls, aborts those under way, waits for them, and
   * says what they came to.
   */
  async close(): Promise<void> {
    this.#closing = true
    for (const task of this.#tasks.values()) this.#abort(task)
    await Promise.all(this.#running)
    await this.#session.close()
  }

  /** Gives up calls: all, or those that do not wait for a person, as the gateway does. */
  #give(all: boolean) {
    for (const task of this.#tasks.values()) {
      if (!all && task.call.isWaiting) continue
      task.lost = true
      this.#abort(task)
    }
  }

  #abort(task: Task | undefined) {
    task?.stop.abort(cancelled())
    task?.sent.end()
    if (task?.content) this.#run(task) // its parts need not come
  }

  #frame(frame: Frame) {
    switch (frame.type) {
      case 'tool_call':
        return this.#begin(frame)
      case 'part':
        return this.#part(frame)
      case 'taken':
        return this.#tasks.get(frame.call_id)?.sent.take(frame.seq)
      case 'cancel':
        return this.#abort(this.#tasks.get(frame.call_id))
      case 'approval':
        if (!this.#desk.answer(frame)) this.#odd('an answer to no open question', frame.id)
        return
      case 'event':
        if (frame.event === 'session_end' && frame.session) this.#options.onSessionEnd?.(frame.session)
        return
      case 'error':
        return this.#odd('the gateway complains', frame.message)
    }
    this.#odd('a frame that is not for a host', frame.type)
  }

  #begin(frame: ToolCall) {
    if (this.#begun.has(frame.call_id)) return this.#odd('a call that was begun before', frame.call_id)
    this.#begun.add(frame.call_id)
    const [oldest] = this.#begun
    if (this.#begun.size > remembered) this.#begun.delete(oldest!)
    const stop = new AbortController()
    const call = new Call(frame, this.#desk, stop.signal)
    const task: Task = { call, stop, lost: false, sent: new Window(), takesParts: frame.takes_parts ?? false }
    this.#tasks.set(call.id, task)
    if (frame.parts_follow) task.content = new Assembly(this.#options.maxContentBytes ?? 100 << 20)
    else this.#run(task)
  }

  #part(frame: Part) {
    const task = this.#tasks.get(frame.call_id)
    if (!task?.content) return this.#odd('a part of no call', frame.call_id)
    try {
      task.content.add(frame)
      this.#session.send({ type: 'taken', call_id: frame.call_id, seq: frame.seq })
      if (!task.content.complete) return
      task.call.arguments.content = task.content.text()
      this.#run(task)
    } catch (err) {
      this.#run(task, () => {
        throw err
      })
    }
  }

  #run(task: Task, handler = this.#handlers.get(task.call.tool)) {
    task.content = undefined
    const running = this.#do(task, handler)
    this.#running.add(running)
    void running.finally(() => this.#running.delete(running))
  }

  async #do(task: Task, handler?: Handler<any>): Promise<void> {
    const { call, stop } = task
    try {
      if (!handler) throw new ToolError('invalid_argument', `This host has no tool ${call.tool}.`)
      if (this.#closing) throw new ToolError('host_unavailable', 'The host is shutting down. Nothing was done.')
      stop.signal.throwIfAborted()
      const result = await handler(call, stop.signal)
      if (typeof result !== 'object' || Array.isArray(result)) throw new TypeError('the result is no object')
      await this.#send(task, { type: 'tool_result', call_id: call.id, result: { ...result }, needs_confirmation: false })
    } catch (err) {
      await this.#send(task, this.#failure(call, stop.signal.aborted && !(err instanceof ToolError) ? cancelled() : err))
    }
    this.#tasks.delete(call.id)
  }

  #failure(call: Call, err: unknown): ToolResult {
    if (!(err instanceof ToolError)) {
      this.#odd(`${call.tool} broke`, err)
      err = new ToolError('internal_error', 'the tool broke; the log of the host says more')
    }
    const { code, message, result } = err as ToolError
    return {
      type: 'tool_result',
      call_id: call.id,
      result: result ?? { success: false, error: `${code}: ${message}` },
      error: code,
      needs_confirmation: false,
    }
  }

  /** Sends a result, its content in parts if it is too large for a frame. */
  async #send(task: Task, result: ToolResult): Promise<void> {
    if (task.lost) return
    const session = this.#session
    const limit = session.reply?.limits?.frame_bytes
    const text = JSON.stringify(result)
    if (!limit || !tooLarge(text, limit)) return session.sendText(text)
    const { content, ...rest } = result.result ?? {}
    const bytes = typeof content === 'string' && task.takesParts ? new TextEncoder().encode(content) : undefined
    const short = JSON.stringify({ ...result, result: rest })
    if (!bytes || tooLarge(short, limit)) {
      const large = new ToolError('file_too_large', 'The result is larger than the gateway takes. Read less at once.')
      return session.send(this.#failure(task.call, large))
    }
    for (const part of split(task.call.id, bytes, limit)) {
      await task.sent.room(part.seq)
      await session.room()
      if (task.lost) return
      if (task.stop.signal.aborted) return session.send(this.#failure(task.call, cancelled()))
      session.send(part)
    }
    session.sendText(short)
  }

  #odd(what: string, details: unknown) {
    this.#options.onOddity?.(what, details)
  }
}

function cancelled(): ToolError {
  return new ToolError('cancelled', 'The call was cancelled.')
}

import { ToolError } from './errors.ts'
import { fromBase64, newID, toBase64 } from './parts.ts'
import type { Session } from './session.ts'
import type { Code } from './tools.gen.ts'
import type { Approval, Question, ToolCall } from './wire.gen.ts'

/** What a person is asked about: what would be done. */
export interface Proposal {
  path: string
  /** Size in bytes once it is done. */
  size: number
  /** Unified. */
  diff?: string
  /** The whole text that would be written, if the person may edit it. */
  content?: string
  /** Why there is a question; `default` if left out. */
  why?: string
}

/** A call that the host is to do. */
export class Call<A = Record<string, unknown>> {
  readonly id: string
  readonly tool: string
  readonly arguments: A
  /** Whose call it is: grants and undo go by it. */
  readonly session: string
  /** Who calls, as it calls itself. */
  readonly client: string
  /** A person has to be asked. */
  readonly requiresConfirmation: boolean
  /** @internal It waits for a person. */
  isWaiting = false

  #desk: Desk
  #signal: AbortSignal
  #approvalSeconds: number

  /** @internal */
  constructor(frame: ToolCall, desk: Desk, signal: AbortSignal) {
    this.id = frame.call_id
    this.tool = frame.tool_name
    this.arguments = frame.arguments as A
    this.session = frame.session ?? ''
    this.client = frame.client ?? ''
    this.requiresConfirmation = frame.requires_confirmation ?? false
    this.#approvalSeconds = frame.approval_timeout_seconds || 600
    this.#desk = desk
    this.#signal = signal
  }

  /** Tells the agent how the call is doing. */
  progress(message: string) {
    const { session } = this.#desk
    if (session.can('progress')) session.send({ type: 'progress', call_id: this.id, state: this.isWaiting ? 'waiting' : 'working', message })
  }

  /**
   * Waits for what a person decides in a dialog of your own. Meanwhile the call's
   * clock stands.
   */
  async waiting<T>(decide: () => Promise<T>): Promise<T> {
    const { session } = this.#desk
    this.isWaiting = true
    session.send({ type: 'tool_result', call_id: this.id, needs_confirmation: true })
    try {
      return await decide()
    } finally {
      this.isWaiting = false
      if (session.can('progress')) session.send({ type: 'progress', call_id: this.id, state: 'working' })
    }
  }

  /**
   * Asks the gateway's people. Resolves when one approves, to the content if that
   * was edited; else it throws the ToolError that the call fails with: let it
   * through, and do nothing.
   */
  async ask(proposal: Proposal): Promise<{ content?: string; by: string }> {
    if (!this.#desk.session.can('approval')) throw new ToolError('permission_denied', 'This needs a person, but there is no person to ask.')
    const reply = await this.waiting(() => this.#desk.ask(this.#question(proposal), this.#signal))
    if (reply.code === 'timeout') {
      throw new ToolError('timeout', `No person answered within ${this.#approvalSeconds} s. Nothing was done.`)
    }
    return verdict(reply)
  }

  #question(p: Proposal): Question {
    const asked = new Date()
    return {
      asked: asked.toISOString(),
      expires: new Date(asked.getTime() + this.#approvalSeconds * 1000).toISOString(),
      session: this.session,
      client: this.client,
      call_id: this.id,
      tool: this.tool,
      path: p.path,
      write: true,
      size: p.size,
      diff: p.diff,
      content: p.content === undefined ? undefined : toBase64(new TextEncoder().encode(p.content)),
      editable: p.content !== undefined,
      why: p.why ?? 'default',
      seal: newID(), // of this question alone: an answer to another does not fit it
    }
  }
}

function verdict(reply: Approval): { content?: string; by: string } {
  const a = reply.answer
  switch (a?.verdict) {
    case 'approve':
      return { by: a.by ?? '' }
    case 'edit':
      return { by: a.by ?? '', content: new TextDecoder('utf-8', { ignoreBOM: true }).decode(fromBase64(a.content ?? '')) }
    case 'reject':
      throw new ToolError('user_rejected', a.words ? `The user rejected this: ${a.words}` : 'The user rejected this. Nothing was done.')
    case 'cancel':
      throw new ToolError('cancelled', 'The person who was asked cancelled the call. Nothing was done.')
  }
  throw new ToolError((reply.code as Code | undefined) ?? 'permission_denied', `This needs a person, and nobody decided: ${reply.error ?? a?.verdict}.`)
}

/** The questions to the gateway's people that are open. */
export class Desk {
  readonly session: Session
  #open = new Map<string, (reply: Approval) => void>()

  constructor(session: Session) {
    this.session = session
  }

  ask(question: Question, signal: AbortSignal): Promise<Approval> {
    const id = newID()
    return new Promise((resolve, reject) => {
      const withdraw = () => {
        this.#open.delete(id)
        this.session.send({ type: 'approval', id, call_id: question.call_id, withdrawn: true })
        reject(signal.reason)
      }
      if (signal.aborted) return reject(signal.reason)
      signal.addEventListener('abort', withdraw)
      this.#open.set(id, reply => {
        signal.removeEventListener('abort', withdraw)
        resolve(reply)
      })
      this.session.send({ type: 'approval', id, call_id: question.call_id, question })
    })
  }

  /** Takes an answer, and says whether it was to an open question. */
  answer(reply: Approval): boolean {
    const resolve = this.#open.get(reply.id)
    this.#open.delete(reply.id)
    resolve?.(reply)
    return resolve !== undefined
  }
}

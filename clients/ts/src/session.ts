import { Connection, whyNot, type Dial, type End } from './dial.ts'
import { GatewayError, type Reason } from './errors.ts'
import { Outbox } from './outbox.ts'
import { version, type Frame, type Hello } from './wire.gen.ts'

/** What a session is for. */
export interface Side {
  /** Another session begins: the gateway knows nothing of an earlier one. */
  fresh(): void
  /** There is a connection. */
  up(reply: Hello): void
  /** The connection is lost; the session may go on. */
  down(): void
  frame(frame: Frame): void
  /** The session is over. */
  over(why: GatewayError): void
}

/** Pauses between two tries to connect, in ms. */
const shortest = 100
const rarest = 15_000
/** An ack is due after so many frames, or characters, or ms. */
const ackFrames = 32
const ackSize = 256 << 10
const ackEvery = 20_000
/** After so many of these without a word from a gateway that says something more often, the connection is dead. */
const silences = 3
/** How often a gateway may answer HTTP and not open a WebSocket, before it is taken for a refusal. */
const patience = 3
const closeWithin = 3_000
/** Closed for a message that was larger than the other side takes. */
const tooBig = 1009

/** What the codes of a refusal mean, where it is not `forbidden`. */
const reasons: Record<string, Reason> = { unsupported: 'version', workspace_taken: 'taken' }

/** A session with a gateway, over one connection after the other. */
export class Session {
  /** Resolves when the session is over, to the reason. */
  readonly closed: Promise<GatewayError>
  /** What the gateway said of itself last. */
  reply?: Hello

  #dial: Dial
  #hello: Hello
  #side: Side
  #outbox = new Outbox()
  #connection?: Connection // that is greeted
  #connecting?: Connection
  #secret?: string
  #received = 0
  #unacked = 0
  #weight = 0
  #pause = shortest
  #refused = 0
  #timer?: ReturnType<typeof setTimeout>
  #quiet = 0
  #beat?: ReturnType<typeof setInterval>
  #over?: GatewayError
  #closing = false
  #finished!: (why: GatewayError) => void
  #first: Promise<void> // resolves with the first connection
  #connected!: () => void

  constructor(dial: Dial, hello: Omit<Hello, 'type' | 'version'>, side: Side) {
    this.#dial = dial
    this.#hello = { type: 'hello', version, ...hello }
    this.#side = side
    this.closed = new Promise(resolve => (this.#finished = resolve))
    this.#first = new Promise(resolve => (this.#connected = resolve))
  }

  /** Connects, and resolves when that is so. Rejects when the gateway refuses for good, or the signal says so. */
  async start(): Promise<void> {
    const signal = this.#dial.signal
    signal?.throwIfAborted()
    const stop = () => this.#finish(new GatewayError('closed', 'given up'))
    signal?.addEventListener('abort', stop)
    this.#connect()
    const why = await Promise.race([this.#first, this.closed])
    signal?.removeEventListener('abort', stop)
    if (!why) return
    signal?.throwIfAborted()
    throw why
  }

  can(capability: string): boolean {
    return this.reply?.capabilities?.includes(capability) ?? false
  }

  /** Puts a frame on its way, now or when there is a connection again. */
  send(frame: Frame): void {
    this.sendText(JSON.stringify(frame))
  }

  sendText(frame: string): void {
    if (this.#over) return
    if (!this.#outbox.put(frame)) {
      this.#secret = undefined // this session cannot go on: frames are missing
      return this.restart('too much is waiting for the gateway')
    }
    this.#write()
  }

  /** Resolves when it is time for more of something large, or the session is over. */
  async room(): Promise<void> {
    await Promise.race([this.#outbox.room(), this.closed])
  }

  /** Gives up the connection, and makes another. */
  restart(why: string) {
    this.#connection?.drop(why)
  }

  /** Ends the session, after what was sent is written. */
  async close(): Promise<void> {
    this.#closing = true
    const bye = new GatewayError('closed', 'the session was closed')
    if (!this.#connection) this.#finish(bye)
    this.#connection?.close()
    const late = setTimeout(() => this.#finish(bye), closeWithin)
    await this.closed
    clearTimeout(late)
  }

  #connect() {
    const hello = this.#secret ? { ...this.#hello, resume: this.#secret, received: this.#received } : this.#hello
    try {
      this.#connecting = new Connection(this.#dial, hello, {
        greeted: reply => this.#greeted(reply),
        frame: (frame, size) => this.#frame(frame, size),
        ended: end => void this.#ended(end),
      })
    } catch (err) {
      this.#finish(err instanceof GatewayError ? err : new GatewayError('url', String(err)))
    }
  }

  #greeted(reply: Hello) {
    const connection = this.#connecting!
    if (this.#over || this.#closing) return connection.close()
    if (reply.version !== version) {
      this.#finish(new GatewayError('version', `the gateway speaks version ${reply.version} of the protocol, this client version ${version}`))
      return connection.close()
    }
    if (reply.resumed && !this.#outbox.rewind(reply.received ?? 0)) {
      this.#secret = undefined
      return connection.drop('the gateway has frames that were not sent')
    }
    this.#secret = reply.resume
    if (!reply.resumed) {
      this.#received = this.#unacked = this.#weight = 0
      this.#outbox.reset(this.#secret !== undefined)
      this.#side.fresh()
    }
    this.#pause = shortest
    this.#refused = 0
    this.reply = reply
    this.#connection = connection
    this.#quiet = 0
    this.#beat = setInterval(() => this.#tick(), ackEvery)
    this.#side.up(reply)
    this.#connected()
    this.#dial.onConnection?.(true)
    this.#write()
  }

  #write() {
    if (!this.#connection) return
    for (let frame; (frame = this.#outbox.take()) !== undefined; ) this.#connection.send(frame)
  }

  #frame(frame: Frame, size: number) {
    this.#quiet = 0
    if (frame.type === 'ack') {
      if (!this.#outbox.has(frame.received)) this.restart('an ack of frames that were not sent')
      return
    }
    this.#received++
    this.#weight += size
    if (++this.#unacked >= ackFrames || this.#weight >= ackSize) this.#ack()
    this.#side.frame(frame)
  }

  /** A WebSocket of a browser is not told of the gateway's pings, and so of their end. */
  #tick() {
    const { beat_seconds } = this.reply!
    if (++this.#quiet >= silences && beat_seconds && beat_seconds * 1000 <= ackEvery) return this.restart('the gateway is silent')
    this.#ack()
  }

  /**
   * Says what has been received. Now and then that is said unasked, for a
   * connection that is dead is noticed by sending.
   */
  #ack() {
    this.#unacked = this.#weight = 0
    if (this.#secret) this.#connection?.send(JSON.stringify({ type: 'ack', received: this.#received }))
  }

  async #ended(end: End) {
    const wasUp = this.#connection !== undefined
    this.#connection = this.#connecting = undefined
    clearInterval(this.#beat)
    if (this.#over) return
    if (this.#closing) return this.#finish(new GatewayError('closed', 'the session was closed'))
    if (wasUp) {
      this.#side.down()
      this.#dial.onConnection?.(false, new Error(end.why))
    }
    const final = await this.#final(end, wasUp)
    if (this.#over) return
    if (final) return this.#finish(final)
    this.#dial.onOddity?.('not connected to the gateway', end.why)
    this.#timer = setTimeout(() => this.#connect(), this.#pause / 2 + Math.random() * this.#pause)
    this.#pause = Math.min(2 * this.#pause, rarest)
  }

  /** Why another try has no sense; undefined where it has. */
  async #final(end: End, wasUp: boolean): Promise<GatewayError | undefined> {
    const { refusal } = end
    if (refusal?.code === 'host_unavailable') return undefined
    if (refusal) return new GatewayError(reasons[refusal.code] ?? 'forbidden', refusal.message)
    const cutOff = end.code === 1008
    if (end.code === tooBig && !wasUp) {
      return new GatewayError('large', 'the hello is larger than the gateway takes: there are too many tools, or their descriptions are too long')
    }
    if (end.opened && !cutOff) return undefined
    const [, code = '', words = end.why] = (cutOff && /^([a-z_]+): (.*)$/.exec(end.why)) || []
    if (code === 'host_unavailable') return undefined
    if (reasons[code]) return new GatewayError(reasons[code], words)
    const why = await whyNot(this.#dial)
    if (cutOff) return why instanceof GatewayError ? why : new GatewayError('forbidden', words)
    if (why !== 'again') {
      this.#refused = 0
      return why
    }
    if (++this.#refused < patience) return undefined
    return new GatewayError('forbidden', 'the gateway answers, but opens no WebSocket: it refuses this origin, or something in between lets none through')
  }

  #finish(why: GatewayError) {
    if (this.#over) return
    this.#over = why
    clearTimeout(this.#timer)
    clearInterval(this.#beat)
    this.#connection?.close()
    this.#connecting?.close()
    this.#side.over(why)
    this.#finished(why)
  }
}

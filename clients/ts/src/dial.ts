import type { Frame, Hello, Error as Refusal } from './wire.gen.ts'
import { GatewayError } from './errors.ts'

/** What a WebSocket has to have. The global one has it, and that of the package ws. */
export interface Socket {
  send(data: string): void
  close(code?: number, reason?: string): void
  addEventListener(type: string, listener: (event: any) => void): void
}

/** Where the gateway is, and how it is reached. */
export interface Dial {
  /** http or https, ws or wss; without the path /v1/connect */
  url: string
  token: string
  /** What connects; the global WebSocket if left out. */
  WebSocket?: new (url: string, protocols: string[]) => Socket
  /** Gives up connecting for the first time. */
  signal?: AbortSignal
  /** What the program calls itself, for the audit trail. */
  client?: string
  /** Told of each connection, and with the reason when it is lost. */
  onConnection?: (up: boolean, why?: Error) => void
  /** Told of what is odd: for a log. */
  onOddity?: (what: string, details?: unknown) => void
}

/** How a connection ended. */
export interface End {
  /** It was open. */
  opened: boolean
  /** The gateway's refusal, before or in place of its hello. */
  refusal?: Refusal
  code?: number
  why: string
}

/** What a connection tells. None of it waits. */
export interface Ears {
  greeted(reply: Hello): void
  frame(frame: Frame, size: number): void
  ended(end: End): void
}

const helloWithin = 10_000

/** One WebSocket: hello, frames, end. Each end is told once. */
export class Connection {
  #socket: Socket
  #ears: Ears
  #opened = false
  #greeted = false
  #over = false
  #refusal?: Refusal
  #late: ReturnType<typeof setTimeout>

  constructor(dial: Dial, hello: Hello, ears: Ears) {
    this.#ears = ears
    this.#socket = open(dial)
    this.#late = setTimeout(() => this.drop('no hello in time'), helloWithin)
    this.#socket.addEventListener('open', () => {
      this.#opened = true
      if (!this.#over) this.send(JSON.stringify(hello))
    })
    this.#socket.addEventListener('message', event => this.#message(event.data))
    this.#socket.addEventListener('close', event => this.#end(event.reason || `closed (${event.code})`, event.code))
    // Not every implementation has a close follow an error.
    this.#socket.addEventListener('error', () => setTimeout(() => this.#end('the connection broke'), 0))
  }

  send(frame: string) {
    this.#socket.send(frame)
  }

  /** Ends the session with the connection. */
  close() {
    this.#socket.close(1000, 'bye')
  }

  /** Ends the connection alone, without waiting for the other side. */
  drop(why: string) {
    this.#end(why)
    this.#socket.close(4000)
  }

  #message(data: unknown) {
    if (this.#over) return
    let frame: Frame
    try {
      frame = JSON.parse(data as string)
    } catch {
      return this.drop('a frame that is no JSON')
    }
    if (this.#greeted) return this.#ears.frame(frame, (data as string).length)
    if (frame.type === 'error') {
      this.#refusal = frame // the end follows
    } else if (frame.type === 'hello') {
      this.#greeted = true
      clearTimeout(this.#late)
      this.#ears.greeted(frame)
    } else {
      this.drop(`${frame.type} before hello`)
    }
  }

  #end(why: string, code?: number) {
    if (this.#over) return
    this.#over = true
    clearTimeout(this.#late)
    this.#ears.ended({ opened: this.#opened, refusal: this.#refusal, code, why: this.#refusal?.message ?? why })
  }
}

/** The URL of what takes WebSockets, by http or https. */
function address(url: string): URL {
  let u: URL
  try {
    u = new URL(url.replace(/^ws/i, 'http'))
  } catch {
    throw new GatewayError('url', `${url} is no URL`)
  }
  if (u.protocol !== 'http:' && u.protocol !== 'https:') throw new GatewayError('url', `${url}: want http, https, ws or wss`)
  u.pathname = u.pathname.replace(/\/$/, '') + '/v1/connect'
  return u
}

function open(dial: Dial): Socket {
  const Class = dial.WebSocket ?? (globalThis.WebSocket as Dial['WebSocket'])
  if (!Class) throw new GatewayError('url', 'there is no WebSocket here: use Node 22 or newer, or give one as the option WebSocket')
  // A browser cannot set the Authorization header: the token is a subprotocol.
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(dial.token)) {
    throw new GatewayError('token', 'the token has characters that a WebSocket cannot carry, or none')
  }
  const url = address(dial.url).href.replace(/^http/, 'ws')
  return new Class(url, ['stet.v1', `stet.token.${dial.token}`])
}

/**
 * Asks over plain HTTP why the WebSocket did not open: a WebSocket does not say.
 * 'again' is an answer that has sense only if it comes again; undefined: the gateway
 * cannot be reached.
 */
export async function whyNot(dial: Dial): Promise<GatewayError | 'again' | undefined> {
  const url = address(dial.url)
  const ask = { signal: AbortSignal.timeout(helloWithin), cache: 'no-store', redirect: 'manual' } as const
  let answer: Response
  try {
    answer = await fetch(url, { ...ask, headers: { Authorization: `Bearer ${dial.token}` } })
  } catch {
    // A page of another origin may not ask so; whether anybody is there it may.
    return fetch(url, { ...ask, mode: 'no-cors' }).then(() => 'again' as const, () => undefined)
  }
  const text = await answer.text().catch(() => '')
  switch (answer.status) {
    case 401:
      return new GatewayError('token', said(text))
    case 403:
      return new GatewayError('forbidden', said(text))
    case 404:
      return new GatewayError('url', `there is no gateway at ${url.href}`)
    case 400:
    case 426:
      return 'again'
  }
  return undefined
}

function said(text: string): string {
  try {
    return JSON.parse(text).message ?? text
  } catch {
    return text.slice(0, 500)
  }
}

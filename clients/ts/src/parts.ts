import { ToolError } from './errors.ts'
import type { Part } from './wire.gen.ts'

/** Bytes of a content in a part, at most, and what a frame has around them. */
const most = 128 << 10
const around = 1024

/** How many parts may be on their way that were not taken. */
const ahead = 4

/** Whether a frame is larger than the gateway takes. */
export function tooLarge(frame: string, frameBytes: number): boolean {
  return frame.length * 3 > frameBytes && new TextEncoder().encode(frame).length > frameBytes
}

/** A content in parts that fit into frames. */
export function* split(call_id: string, bytes: Uint8Array, frameBytes: number): Generator<Part> {
  const size = Math.max(1, Math.min(most, Math.floor(((frameBytes - around) * 3) / 4)))
  for (let seq = 0, at = 0; seq === 0 || at < bytes.length; seq++, at += size) {
    yield { type: 'part', call_id, seq, data: toBase64(bytes.subarray(at, at + size)), last: at + size >= bytes.length }
  }
}

/** What the other side has taken of the parts that it is sent. */
export class Window {
  #taken = 0
  #over = false
  #go = () => {}

  /** It has taken the parts up to this one. */
  take(seq: number) {
    this.#taken = Math.max(this.#taken, seq + 1)
    this.#go()
  }

  /** No more parts are to be sent. */
  end() {
    this.#over = true
    this.#go()
  }

  /** Resolves when the part may be sent, or none any more. */
  async room(seq: number): Promise<void> {
    while (!this.#over && seq - this.#taken >= ahead) await new Promise<void>(resolve => (this.#go = resolve))
  }
}

/** A content that comes in parts. */
export class Assembly {
  #parts: Uint8Array[] = []
  #limit: number
  #size = 0
  complete = false

  /** limit is in bytes. */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** Throws a ToolError when the part does not fit. */
  add(part: Part) {
    if (this.complete || part.seq !== this.#parts.length) {
      throw new ToolError('invalid_argument', `part ${part.seq} where part ${this.#parts.length} was to come`)
    }
    const bytes = fromBase64(part.data)
    this.#size += bytes.length
    if (this.#size > this.#limit) {
      throw new ToolError('file_too_large', `The content has more than ${this.#limit} bytes.`)
    }
    this.#parts.push(bytes)
    this.complete = part.last ?? false
  }

  get begun(): boolean {
    return this.#parts.length > 0
  }

  text(): string {
    const all = new Uint8Array(this.#size)
    let at = 0
    for (const part of this.#parts) {
      all.set(part, at)
      at += part.length
    }
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(all)
  }
}

export function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let i = 0; i < bytes.length; i += 0x8000) binary += String.fromCharCode(...bytes.subarray(i, i + 0x8000))
  return btoa(binary)
}

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), c => c.charCodeAt(0))
}

/** A name that cannot be guessed. */
export function newID(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), b => b.toString(16).padStart(2, '0')).join('')
}

/** How many characters may wait for the gateway, and when it is better to wait. */
const limit = 64 << 20
const enough = 4 << 20

/**
 * The frames of a session on their way out. Of a session that can be resumed they
 * stay until the gateway has said that it has them.
 */
export class Outbox {
  #frames: string[] = []
  #next = 0 // the first that is not written
  #before = 0 // frames of the session before the first of #frames
  #size = 0
  #keep = false
  #waiting: (() => void)[] = []

  /** Adds a frame, and says whether there was room for it. */
  put(frame: string): boolean {
    if (this.#size + frame.length > limit) return false
    this.#frames.push(frame)
    this.#size += frame.length
    return true
  }

  /** The next frame to write. */
  take(): string | undefined {
    const frame = this.#frames[this.#next]
    if (frame === undefined) return undefined
    this.#next++
    if (!this.#keep) this.#drop(1)
    return frame
  }

  /** The gateway has received n frames of the session. False: that cannot be. */
  has(n: number): boolean {
    if (n < this.#before || n > this.#before + this.#next) return false
    this.#drop(n - this.#before)
    return true
  }

  /** Has all written again that the gateway, which has n frames, has not. */
  rewind(n: number): boolean {
    if (!this.has(n)) return false
    this.#next = 0
    return true
  }

  /** Begins another session. */
  reset(keep: boolean) {
    this.#drop(this.#frames.length)
    this.#next = this.#before = 0
    this.#keep = keep
  }

  /** Resolves when it is time for more of something large. */
  async room(): Promise<void> {
    while (this.#size > enough) await new Promise<void>(resolve => this.#waiting.push(resolve))
  }

  #drop(n: number) {
    for (const frame of this.#frames.splice(0, n)) this.#size -= frame.length
    this.#before += n
    this.#next -= n
    if (this.#size <= enough) for (const go of this.#waiting.splice(0)) go()
  }
}

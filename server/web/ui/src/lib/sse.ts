/** Events reads server-sent events out of text that comes in pieces. */
export class Events {
  #rest = ''

  /** take returns the data of the events that are whole with this piece. */
  take(piece: string): string[] {
    const blocks = (this.#rest + piece).split('\n\n')
    this.#rest = blocks.pop()!
    return blocks.map(data).filter((d) => d !== '')
  }
}

function data(block: string): string {
  return block
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(line[5] === ' ' ? 6 : 5))
    .join('\n')
}

import type { Closing, Question, QueueEvent } from '../api.gen'
import { distrust, follow, get, Refused } from './api'
import { plain } from './visible'
import { prefs } from './prefs.svelte'

/** The open questions, as the server tells them, and how others ended. */
export const queue = $state({
  open: [] as Question[],
  closed: [] as Closing[], // the newest first
  connected: false,
  known: false, // the server has told what is open at least once
  stored: 0, // grows when something may have been stored
})

const remembered = 200

/** closing is how a question ended, if it did. */
export function closing(id: string): Closing | undefined {
  return queue.closed.find((c) => c.id === id)
}

/** apply takes an event in. */
export function apply(e: QueueEvent) {
  if (e.open) snapshot(e.open, e.ended ?? [])
  if (e.opened && !closing(e.opened.id) && !queue.open.some((q) => q.id === e.opened!.id)) {
    queue.open.push(e.opened)
    notify(e.opened)
  }
  if (e.closed) {
    close([e.closed])
    queue.open = queue.open.filter((q) => q.id !== e.closed!.id)
  }
  if (e.stored || e.open) queue.stored++
}

/** snapshot takes in all that the server knows, after a connection was made. */
function snapshot(open: Question[], ended: Closing[]) {
  const has = (all: { id: string }[], id: string) => all.some((q) => q.id === id)
  const lost = queue.open.filter((q) => !has(open, q.id) && !has(ended, q.id))
  const came = open.filter((q) => queue.known && !has(queue.open, q.id))
  close(ended.toReversed())
  close(lost.map((q) => ({ id: q.id, how: 'closed', by: '', text: 'closed while there was no connection' })))
  queue.open = open
  queue.known = true
  came.forEach(notify)
}

/** close notes how questions ended, the newest first, with what they were about. */
function close(ended: Closing[]) {
  const noted = ended.map((c) => ({ ...c, path: c.path ?? queue.open.find((q) => q.id === c.id)?.path ?? '', at: c.at ?? new Date().toISOString() }))
  queue.closed = [...noted, ...queue.closed.filter((o) => !noted.some((c) => c.id === o.id))].slice(0, remembered)
}

function notify(q: Question) {
  if (!prefs.notify || prefs.push || document.visibilityState === 'visible' || Notification.permission !== 'granted') return
  new Notification('stet: a question is open', { body: plain(`${q.tool} ${q.path}`.trim()), tag: q.id })
}

/** What a tab tells the others: an event of the queue, and whether stet is there. */
interface News {
  connected: boolean
  event?: QueueEvent
}

let heard = 0 // events

function took(n: News) {
  queue.connected = n.connected
  if (!n.connected) distrust() // it may be another program that answers from now on
  if (!n.event) return
  heard++
  apply(n.event)
}

/**
 * connect follows the queue until the signal. Browsers grant few connections to a
 * host, all tabs together: one tab has a stream, and tells the others. When it is
 * closed, another one takes over.
 */
export async function connect(signal: AbortSignal) {
  const others = new BroadcastChannel('stet-queue')
  others.onmessage = (m: MessageEvent<News>) => took(m.data)
  const tell = (n: News) => {
    took(n)
    if (!signal.aborted) others.postMessage(n)
  }
  try {
    if (!navigator.locks) return await lead(signal, tell) // an address that is not secure has none
    begin(signal)
    await navigator.locks.request('stet-queue', { signal }, () => lead(signal, tell))
  } catch (err) {
    if (!signal.aborted) throw err
  } finally {
    others.close()
    queue.connected = false
  }
}

/** begin asks what is open now, for a tab that does not lead. */
async function begin(signal: AbortSignal) {
  try {
    for (;;) {
      const before = heard
      const event = await get<QueueEvent>('/api/questions', signal)
      if (before !== heard) continue // the answer may be older than what was heard meanwhile
      return took({ connected: true, event })
    }
  } catch {
    // stet is not there: whoever leads says so.
  }
}

/** lead has the stream, again and again. */
async function lead(signal: AbortSignal, tell: (n: News) => void) {
  for (let pause = 250; !signal.aborted; pause = Math.min(2 * pause, 5000)) {
    try {
      await follow<QueueEvent>(
        '/api/events',
        (event) => {
          pause = 250
          tell({ connected: true, event })
        },
        signal,
      )
    } catch (err) {
      if (err instanceof Refused && err.status === 401) return
    }
    tell({ connected: false })
    await Promise.race([sleep(pause), online()])
  }
}

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))
const online = () => new Promise((done) => addEventListener('online', done, { once: true }))

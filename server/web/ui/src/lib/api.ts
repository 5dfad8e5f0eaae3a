import type { LoggedIn, Problem, Ways, Welcome } from '../api.gen'
import { forget, hash, keep, keyOf, kept, mac, random, type Key, type Login } from './proof'
import { Events } from './sse'

/** Refused is an answer that is an error. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    text: string,
  ) {
    super(text)
  }
}

/** Stranger is the error of a server that cannot prove that it is the one of the login. */
export class Stranger extends Error {
  constructor() {
    super('This is not the stet that you logged in to, or it does not know the login any more. Nothing is sent to it.')
  }
}

/** lost is called when the login is no longer valid. */
let lost = () => {}
export function onLost(fn: () => void) {
  lost = fn
}

/** met is called when it is known whether the server is a stranger. */
let met = (_stranger: boolean) => {}
export function onMet(fn: (stranger: boolean) => void) {
  met = fn
}

/** Channel is what this page and the server have agreed on by a hello. */
interface Channel extends Login {
  id: string
  used: number // numbers of requests
}

let channel: Promise<Channel> | undefined

/** distrust has the server prove itself again before anything else is sent. */
export function distrust() {
  channel = undefined
}

function trusted(): Promise<Channel> {
  const mine = (channel ??= hello())
  mine.catch(() => {
    if (channel === mine) channel = undefined
  })
  return mine
}

/**
 * part loads a part of this page. It is for when the page begins: what comes later
 * could come from another program that has taken the port.
 */
export function part<T>(load: () => Promise<T>): Promise<T> {
  const loading = load()
  loading.catch(() => {}) // it is shown where the part would be
  return loading
}

/** hello has the server prove that it is the one of the login, and opens a channel. */
async function hello(): Promise<Channel> {
  const own = await kept()
  if (!own) return out()
  const nonce = random()
  const { login, key } = own
  const answer = await send('POST', '/api/hello', JSON.stringify({ login, nonce, mac: await mac(key, 'hello', login, nonce) }))
  if (answer.status > 500) throw new Error(answer.statusText) // a proxy that does not reach stet
  const welcome: Welcome | undefined = answer.ok ? await answer.json().catch(() => undefined) : undefined
  const stranger = welcome?.mac !== (await mac(key, 'welcome', nonce, welcome?.channel ?? ''))
  met(stranger)
  if (stranger) throw new Stranger()
  if (!welcome?.channel) return out()
  return { login, key, id: welcome.channel, used: 0 }
}

function out(): never {
  lost()
  throw new Refused(401, 'log in by the link that stet printed')
}

function send(method: string, path: string, body?: string, proof?: string, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = {}
  if (proof) headers['Stet-Proof'] = proof
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  return fetch(path, { method, headers, body: body ?? null, signal: signal ?? null, cache: 'no-store' })
}

/** checked returns an answer, or throws what it says is wrong. */
async function checked(answer: Response): Promise<Response> {
  if (answer.ok) return answer
  const problem: Problem = await answer.json().catch(() => ({ error: answer.statusText }))
  throw new Refused(answer.status, problem.error)
}

/**
 * proved returns an answer whose proof is right, undefined if it is not. own is the MAC
 * of the request. Of a stream, which is events or a file, the body has no proof.
 */
async function proved(key: Key, own: string, answer: Response, stream: boolean): Promise<Response | undefined> {
  const proof = answer.headers.get('Stet-Proof')
  if (!proof) return undefined
  if (stream && answer.ok) return proof === (await mac(key, 'stream', own)) ? answer : undefined
  const body = new Uint8Array(await answer.arrayBuffer())
  if (proof !== (await mac(key, 'answer', own, String(answer.status), hash(body)))) return undefined
  return new Response(body, { status: answer.status, statusText: answer.statusText })
}

/**
 * ask makes a request, with a proof, of a server that has proved itself. What a person
 * has written is sent right after that alone. A server that began anew does not know
 * the channel, and has done nothing: it is asked once more.
 */
async function ask(method: string, path: string, body?: unknown, signal?: AbortSignal, stream = false): Promise<Response> {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const url = new URL(path, location.href)
  if (method !== 'GET') distrust()
  for (let again = false; ; again = true) {
    const c = await trusted()
    const number = String(++c.used)
    const sum = hash(text ?? '')
    const own = await mac(c.key, 'request', c.id, number, method, url.pathname + url.search, sum)
    let answer: Response
    try {
      answer = await send(method, path, text, [c.id, number, sum, own].join('.'), signal)
    } catch (err) {
      if (!signal?.aborted) distrust()
      throw err
    }
    const sure = await proved(c.key, own, answer, stream)
    if (sure) {
      if (sure.status === 401) lost()
      return checked(sure)
    }
    distrust()
    if (again || answer.status !== 401) throw new Error('an answer that is not of this stet: ' + answer.status)
  }
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await ask('GET', path, undefined, signal)).json()
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  return (await ask('POST', path, body)).json()
}

export async function blob(path: string): Promise<Blob> {
  return (await ask('GET', path, undefined, undefined, true)).blob()
}

/** ways says how people can log in here. It needs no login, and tells nothing. */
export async function ways(): Promise<Ways> {
  return (await checked(await send('GET', '/api/ways'))).json()
}

/**
 * login takes a token to the server, and keeps what the two will prove themselves by.
 * Without a token, the session counts that an account elsewhere has begun.
 */
export async function login(token: string): Promise<void> {
  const answer = await checked(await send('POST', '/api/login', JSON.stringify({ token })))
  const { login, key }: LoggedIn = await answer.json()
  await keep({ login, key: await keyOf(key) })
  distrust()
}

export async function logout(): Promise<void> {
  await post('/api/logout', {})
  await leave()
}

/** leave forgets the login, and asks nothing of the server. */
export async function leave(): Promise<void> {
  await forget()
  distrust()
}

/** follow reads a stream of events until it ends, which is no error. */
export async function follow<T>(path: string, each: (event: T) => void, signal: AbortSignal): Promise<void> {
  const answer = await ask('GET', path, undefined, signal, true)
  const events = new Events()
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    for (const data of events.take(value)) each(JSON.parse(data))
  }
}

/** base64 is a text as the server takes bytes. */
export function base64(text: string): string {
  let raw = ''
  for (const byte of new TextEncoder().encode(text)) raw += String.fromCharCode(byte)
  return btoa(raw)
}

/** words says what went wrong, for people. */
export function words(err: unknown): string {
  if (err instanceof Refused || err instanceof Stranger) return err.message
  return 'stet cannot be reached'
}

import type { LoggedIn, Problem } from '../api.gen'
import { Events } from './sse'

/** The half of a login that the page keeps; the cookie is the other. */
const keyName = 'stet-key'

/** Refused is an answer that is an error. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    text: string,
  ) {
    super(text)
  }
}

/** lost is called when the login is no longer valid. */
let lost = () => {}
export function onLost(fn: () => void) {
  lost = fn
}

async function ask(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { 'Stet-Key': localStorage.getItem(keyName) ?? '' }
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  const answer = await fetch(path, {
    method,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal ?? null,
    cache: 'no-store',
  })
  if (answer.ok) return answer
  const problem: Problem = await answer.json().catch(() => ({ error: answer.statusText }))
  if (answer.status === 401) lost()
  throw new Refused(answer.status, problem.error)
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await ask('GET', path, undefined, signal)).json()
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  return (await ask('POST', path, body)).json()
}

export async function blob(path: string): Promise<Blob> {
  return (await ask('GET', path)).blob()
}

/** login takes a token to the server, and keeps the half that is ours. */
export async function login(token: string): Promise<void> {
  const { key } = await post<LoggedIn>('/api/login', { token })
  localStorage.setItem(keyName, key)
}

export async function logout(): Promise<void> {
  await post('/api/logout', {})
  localStorage.removeItem(keyName)
}

/** follow reads a stream of events until it ends, which is no error. */
export async function follow<T>(path: string, each: (event: T) => void, signal: AbortSignal): Promise<void> {
  const answer = await ask('GET', path, undefined, signal)
  const events = new Events()
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    for (const data of events.take(value)) each(JSON.parse(data))
  }
}

/** words says what went wrong, for people. */
export function words(err: unknown): string {
  if (err instanceof Refused) return err.message
  return 'stet cannot be reached'
}

import type { PushKey } from '../api.gen'
import { get, post } from './api'
import { prefs } from './prefs.svelte'
import { encode } from './proof'

/** whyNot says why stet cannot notify this browser, and what to do; '': it can. */
export function whyNot(): string {
  if (location.protocol !== 'https:') {
    return 'To be notified while this page is closed, open it by https: with a name in a tailnet, or a certificate (--tls-cert). docs/answers.md says how.'
  }
  if (!('serviceWorker' in navigator && 'PushManager' in window)) return 'This browser cannot be notified while the page is closed.'
  return ''
}

/** workerURL is the worker's address, in the type that the page's policy wants. */
function workerURL(): string {
  const address = '/worker.js'
  const types = (window as { trustedTypes?: { createPolicy(name: string, rules: object): { createScriptURL(s: string): string } } }).trustedTypes
  return (policy ??= types?.createPolicy('stet-worker', { createScriptURL: () => address }))?.createScriptURL(address) ?? address
}
let policy: { createScriptURL(s: string): string } | undefined

/** subscribe has this browser show messages about questions, also while the page is closed. */
export async function subscribe() {
  const { key } = await get<PushKey>('/api/push')
  await navigator.serviceWorker.register(workerURL())
  const { pushManager } = await navigator.serviceWorker.ready
  const old = await pushManager.getSubscription()
  const of = old?.options.applicationServerKey
  if (of && encode(new Uint8Array(of)) !== key) await old.unsubscribe() // the server has another key since
  const own = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key })
  await post('/api/push', own.toJSON())
  prefs.push = true
}

/** renew tells the server of a new login where this browser has its messages. */
export async function renew() {
  if (!prefs.push || whyNot()) return
  if (Notification.permission !== 'granted') prefs.push = false
  else await subscribe()
}

/** unsubscribe ends the messages, and removes the worker. */
export async function unsubscribe() {
  prefs.push = false
  const worker = await navigator.serviceWorker.getRegistration()
  const old = await worker?.pushManager.getSubscription()
  await old?.unsubscribe().catch(() => {}) // the server sends no more in any case
  await worker?.unregister()
  await post('/api/push/end', {})
}

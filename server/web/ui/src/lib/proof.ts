import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'

/**
 * Key is what MACs are made with. A CryptoKey can be used here and not be read, also
 * not by a script. Browsers have none at an http address of another machine: there it
 * is the bytes.
 */
export type Key = CryptoKey | Uint8Array<ArrayBuffer>

/** Login is what this browser keeps of a login. */
export interface Login {
  login: string
  key: Key
}

const utf8 = (text: string) => new TextEncoder().encode(text)

export function encode(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

function decode(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
}

/** keyOf makes a key of its bytes in base64url. */
export async function keyOf(text: string): Promise<Key> {
  if (!crypto.subtle) return decode(text)
  return crypto.subtle.importKey('raw', decode(text), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
}

/** mac is the MAC over parts without line ends. */
export async function mac(key: Key, ...parts: string[]): Promise<string> {
  const text = utf8(parts.join('\n'))
  if (key instanceof Uint8Array) return encode(hmac(sha256, key, text))
  return encode(new Uint8Array(await crypto.subtle.sign('HMAC', key, text)))
}

export function hash(text: string | Uint8Array): string {
  return encode(sha256(typeof text === 'string' ? utf8(text) : text))
}

/** random is a text that cannot be guessed. */
export function random(): string {
  return encode(crypto.getRandomValues(new Uint8Array(32)))
}

/** kept is the login of this browser, if there is one. */
export function kept(): Promise<Login | undefined> {
  return stored('readonly', (s) => s.get('login'))
}

export async function keep(l: Login): Promise<void> {
  await stored('readwrite', (s) => s.put(l, 'login'))
}

export async function forget(): Promise<void> {
  await stored('readwrite', (s) => s.delete('login'))
}

/** stored uses the database of this address, which alone can keep a CryptoKey. */
async function stored<T>(mode: IDBTransactionMode, use: (s: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const opening = indexedDB.open('stet')
  opening.onupgradeneeded = () => opening.result.createObjectStore('login')
  const db = await result(opening)
  try {
    return await result(use(db.transaction('login', mode).objectStore('login')))
  } finally {
    db.close()
  }
}

function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((done, failed) => {
    request.onsuccess = () => done(request.result)
    request.onerror = () => failed(request.error)
  })
}

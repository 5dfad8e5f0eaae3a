// Runs one flow: node run.mjs FILE NAME.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const load = createRequire(join(process.env.STET_MODULES, 'x'))
const { chromium } = load('playwright-core')
const base = process.env.STET_URL
const control = process.env.STET_CONTROL

/** tell makes the server of the flow do something, and returns its answer. */
async function tell(method, path, body) {
  const answer = await fetch(control + path, { method, body: body && JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
  return answer.json()
}

const rig = {
  base,
  /** call makes a call as an agent, waits for its result, and returns it. */
  call: (tool, args, session = 'session-1', client = '') => tell('POST', '/call', { session, client, tool, args }),
  read: (path) => tell('GET', '/file?path=' + encodeURIComponent(path)),
  write: (path, content) => tell('POST', '/file', { path, content }),
  trail: () => tell('GET', '/trail'),
  down: () => tell('POST', '/down'),
  up: () => tell('POST', '/up'),
  impostor: () => tell('POST', '/impostor'),
  /** stolen returns the requests that the other program received; body is in base64. */
  stolen: () => tell('GET', '/impostor'),
  restart: () => tell('POST', '/restart'),
  /** opened waits until n questions are open. */
  opened: (n) => tell('POST', '/opened', { n }),
  answer: () => tell('POST', '/answer'),
  outside: () => tell('POST', '/outside'),
  native: (command) => tell('POST', '/native', { command }),
  entry: (entry) => tell('POST', '/entry', entry),
  /** open returns the IDs of the open questions, by what they are about. */
  open: () => tell('GET', '/open'),
  bend: () => tell('POST', '/bend'),
  elsewhere: (text) => tell('POST', '/elsewhere', { text }),
  say: (text) => tell('POST', '/say', { text }),
  /** seed adds invented sessions and requests. With long they have long names, and the requests are of one day. */
  seed: (long = false) => tell('POST', '/seed', { long }),
  pictures: process.env.STET_PICTURES,
  every: process.env.STET_EVERY !== '',
}

const browser = await chromium.connect(process.env.STET_BROWSER)
const contexts = []

/** enter opens the UI as a person. An error of the page, or a request of it to another server, fails the flow. */
async function enter(person = 'desk', options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  contexts.push(context)
  const page = await context.newPage()
  page.setDefaultTimeout(120_000) // a limit of patience, for a machine with much else to do
  page.complaints = []
  page.on('pageerror', (err) => page.complaints.push(String(err)))
  page.on('console', (m) => {
    if (m.type() === 'error' && !/Failed to load resource|net::ERR/.test(m.text())) page.complaints.push(m.text())
  })
  page.on('request', (r) => {
    const url = r.url()
    if (!url.startsWith(base) && !url.startsWith('blob:')) page.complaints.push('outside request: ' + url)
  })
  if (person) {
    await page.goto(`${base}/#token=token-of-${person}`)
    await page.getByRole('heading', { name: 'Approvals' }).waitFor()
    assert.ok(!page.url().includes('token'), 'the token stays in the address')
  }
  return page
}

/** axe lists what a page lacks for people who do not see it, or do not see well. */
async function axe(page) {
  await page.evaluate(load('axe-core').source)
  const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ['violations'] }))
  return violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target.join(' ')}: ${n.failureSummary}`))
}

/** save saves a page as a WebP, which the browser itself encodes. */
async function save(page, name) {
  const image = (await page.screenshot()).toString('base64')
  const paper = await page.context().newPage()
  const webp = await paper.evaluate(async (image) => {
    const data = await fetch('data:image/png;base64,' + image).then((r) => r.blob())
    const drawn = await createImageBitmap(data)
    const canvas = new OffscreenCanvas(drawn.width, drawn.height)
    canvas.getContext('2d').drawImage(drawn, 0, 0)
    const made = await canvas.convertToBlob({ type: 'image/webp', quality: 0.8 })
    return Array.from(new Uint8Array(await made.arrayBuffer()))
  }, image)
  await paper.close()
  await writeFile(`${rig.pictures}/${name}.webp`, Buffer.from(webp))
}

const [, , file, name] = process.argv
const flows = await import(`./${file}.mjs`)
let failed
try {
  await flows[name]({ rig, enter, assert, axe, save })
  for (const c of contexts) for (const p of c.pages()) assert.deepEqual(p.complaints ?? [], [], 'the page complains')
} catch (err) {
  failed = err
  for (const c of contexts) for (const p of c.pages()) console.error('the page has:\n' + (await p.locator('body').innerText().catch(() => '')).slice(0, 3000), p.complaints)
}
for (const c of contexts) await c.close()
await browser.close()
if (failed) {
  console.error(failed)
  process.exit(1)
}
process.exit(0) // drops the calls that were not answered

// A person with a phone: opens the page by the link that "stet serve" prints, and does what each line of the input says:
//   approve COMMAND
//   reject COMMAND: WORDS
//   restore AGENT
//   notify this: SUBSCRIPTION      has this browser notified, where PushManager.subscribe gives the subscription
//   shows TEXT: MESSAGE            gets a message of the push service, which shows the text, and opens its question
//   stop this
// It prints "done" after each.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const { chromium } = createRequire(join(process.env.STET_E2E_WEB, 'x'))('playwright-core')
const [program, link] = process.argv.slice(2)

const browser = await chromium.launch({ executablePath: program, chromiumSandbox: process.getuid?.() !== 0, args: ['--disable-dev-shm-usage', '--ignore-certificate-errors'] })
const context = await browser.newContext({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 })
const page = await context.newPage()
page.setDefaultTimeout(300_000)
const { origin } = new URL(link)
await context.grantPermissions(['notifications'], { origin })
await page.goto(link)
await page.getByRole('heading', { name: 'Approvals' }).waitFor()
console.log('open')

for await (const line of createInterface({ input: process.stdin })) {
  const [, verdict, command, words] = line.match(/^(\w+) ([^:]*)(?:: (.*))?$/)
  const other = { restore, notify, shows, stop }[verdict]
  if (other) {
    await other(command, words)
    console.log('done')
    continue
  }
  await page.getByRole('region', { name: 'Open questions' }).getByRole('link', { name: command }).tap()
  await page.locator('.answers button.primary:not([disabled])').waitFor()
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  assert.ok(wider <= 0, `the page is ${wider} px wider than the screen`)
  const answer = page.locator('.answers').getByRole('button', { name: verdict === 'approve' ? /^Approve/ : /^Reject/ })
  const box = await answer.boundingBox()
  assert.ok(box.height >= 40 && box.y + box.height <= 844, 'the button is too small, or out of sight')
  await answer.tap()
  if (verdict === 'reject') {
    await page.getByRole('textbox').fill(words)
    await page.getByRole('button', { name: 'Reject', exact: true }).tap()
  }
  await page.getByRole('heading', { name: 'Approvals' }).waitFor()
  console.log('done')
}
await browser.close()

/** restore takes back all that the agent's session has changed, from its first call on. */
async function restore(agent) {
  await page.getByRole('link', { name: 'Sessions' }).tap()
  await page.getByText("of agents' own tools").tap()
  await page.getByRole('link', { name: agent }).tap()
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: /^Show what entry/ }).first().tap()
  await dialog.getByText('three is removed').waitFor()
  assert.equal(await dialog.getByText('one is removed').count(), 0, 'another call is shown, too')
  await dialog.getByRole('button', { name: 'Back', exact: true }).tap()
  await page.getByRole('button', { name: /^Take back from entry/ }).last().tap()
  await dialog.getByText('one is removed').waitFor()
  await dialog.getByRole('button', { name: 'Take back' }).tap()
  await page.getByRole('status').filter({ hasText: 'undone' }).waitFor()
}

/** notify has this browser notified. Its push service is that of the subscription. */
async function notify(_, subscription) {
  await page.evaluate((own) => {
    PushManager.prototype.subscribe = async (options) => {
      if (!options.userVisibleOnly || options.applicationServerKey.length !== 87) throw new Error('what is subscribed: ' + JSON.stringify(options))
      return { ...own, toJSON: () => own }
    }
  }, JSON.parse(subscription))
  await page.getByRole('link', { name: 'Settings' }).tap()
  await page.getByRole('button', { name: 'Notify this browser' }).tap()
  await page.getByRole('button', { name: 'Stop notifying' }).waitFor()
  await back()
}

/** shows hands a message to the worker, looks at what it shows, and taps on that. */
async function shows(text, message) {
  const { question } = JSON.parse(message)
  const session = await context.newCDPSession(page)
  const registered = new Promise((done) => session.on('ServiceWorker.workerRegistrationUpdated', (e) => e.registrations[0] && done(e.registrations[0])))
  await session.send('ServiceWorker.enable')
  const { registrationId } = await registered
  let opened
  for (let tries = 0; !opened && tries < 30; tries++) { // the browser may forget a notification that is asked for while it is being shown
    await session.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data: message })
    await page.waitForTimeout(500)
    opened = await context.serviceWorkers()[0].evaluate(click, [question, text])
  }
  assert.equal(opened, '/#/queue/' + question)
  // It is closed before the next one with its tag comes, which would be closed in its place.
  await becomes(0, async () => (await (await navigator.serviceWorker.ready).getNotifications()).length)
  await page.goto(origin + opened)
  if (text !== 'No longer open') await page.locator('.answers button.primary:not([disabled])').waitFor()
  await back()
}

/**
 * click taps on the only notification, in the worker, once it is shown. A click is an event that only the system can make, and only then a worker may
 * open a window: what it would open is returned; nothing if the notification does not come.
 */
async function click([tag, text]) {
  let address
  clients.openWindow = async (to) => (address = to)
  for (let waited = 0; waited < 20; waited++) {
    const all = await registration.getNotifications()
    if (all.length === 1 && all[0].tag === tag && all[0].body.includes(text)) {
      dispatchEvent(new NotificationEvent('notificationclick', { notification: all[0] }))
      return address
    }
    await new Promise((done) => setTimeout(done, 100))
  }
}

/** becomes waits until a function returns a value in the page. (waitForFunction takes a promise for true.) */
async function becomes(value, of) {
  for (let waited = 0; (await page.evaluate(of)) !== value; waited++) {
    assert.ok(waited < 3000, `it does not become ${value}: ${of}`)
    await page.waitForTimeout(100)
  }
}

/** stop ends the messages, and leaves no worker. */
async function stop() {
  await page.getByRole('link', { name: 'Settings' }).tap()
  await page.getByRole('button', { name: 'Stop notifying' }).tap()
  await page.getByRole('button', { name: 'Notify this browser' }).waitFor()
  await becomes(0, async () => (await navigator.serviceWorker.getRegistrations()).length)
  await back()
}

/** back goes to the list of questions. */
async function back() {
  await page.goto(origin + '/#/queue')
  await page.getByRole('heading', { name: 'Approvals' }).waitFor()
}

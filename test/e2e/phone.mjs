// A person with a phone: opens the page by the link that "stet serve" prints, and does what each line of the input says:
//   approve COMMAND
//   reject COMMAND: WORDS
//   restore AGENT
// It prints "done" after each.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const { chromium } = createRequire(join(process.env.STET_E2E_WEB, 'x'))('playwright-core')
const [program, link] = process.argv.slice(2)

const browser = await chromium.launch({ executablePath: program, chromiumSandbox: process.getuid?.() !== 0, args: ['--disable-dev-shm-usage'] })
const context = await browser.newContext({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 })
const page = await context.newPage()
page.setDefaultTimeout(300_000)
await page.goto(link)
await page.getByRole('heading', { name: 'Approvals' }).waitFor()
console.log('open')

for await (const line of createInterface({ input: process.stdin })) {
  const [, verdict, command, words] = line.match(/^(\w+) ([^:]*)(?:: (.*))?$/)
  if (verdict === 'restore') {
    await restore(command)
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

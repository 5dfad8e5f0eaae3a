// What people do with questions.

const write = (rig, path, content, session) => rig.call('write_file', { path, content, create_dirs: true }, session)
const read = (rig, path, session) => rig.call('read_file', { path }, session)
const button = (page, name) => page.locator('.answers').getByRole('button', { name })
const item = (page, path) => page.getByRole('region', { name: 'Open questions' }).getByRole('link', { name: path })
const done = (page, text) => page.locator('.done li', { hasText: text }).first().waitFor()

/** ready waits until the visible question may be answered. */
const ready = (page) => page.locator('.answers button.primary:not([disabled])').waitFor()

const numbered = (n, change = (i, line) => line) =>
  Array.from({ length: n }, (_, i) => change(i + 1, `line ${i + 1}`) + '\n').join('')

/** An agent waits; a person sees the difference and approves. (FILE-6) */
export async function approve({ rig, enter, assert }) {
  await rig.write('hello.txt', 'one\ntwo\n')
  await read(rig, 'hello.txt')
  const page = await enter()
  const result = write(rig, 'hello.txt', 'one\n2\n')
  await page.locator('.row.added', { hasText: '2' }).waitFor()
  await page.locator('.row.removed', { hasText: 'two' }).waitFor()
  assert.equal(await rig.read('hello.txt'), 'one\ntwo\n')
  await ready(page)
  await button(page, /^Approve/).click()
  const { text, code } = await result
  assert.equal(code, '', text)
  assert.equal(await rig.read('hello.txt'), 'one\n2\n')
  await done(page, 'approved by desk')
  assert.ok((await rig.trail()).some((e) => e.by === 'person desk' && e.decision === 'approved' && e.outcome === 'ok'))
}

/** The person's words reach the agent, and nothing is written. (FILE-6) */
export async function reject({ rig, enter, assert }) {
  const page = await enter()
  const result = write(rig, 'a.txt', 'x\n')
  await ready(page)
  await button(page, /^Reject/).click()
  await page.getByRole('textbox').fill('Put it below docs, "please" <now>')
  await page.getByRole('button', { name: 'Reject', exact: true }).click()
  const { text, code } = await result
  assert.equal(code, 'user_rejected')
  assert.match(JSON.parse(text).error, /Put it below docs, "please" <now>/)
  assert.equal(await rig.read('a.txt'), null)
  await done(page, 'rejected by desk')
}

/** Some of the changes are made, others are not. */
export async function hunks({ rig, enter, assert }) {
  await rig.write('a.txt', numbered(90))
  await read(rig, 'a.txt')
  const page = await enter()
  const result = write(rig, 'a.txt', numbered(90, (i, line) => (i % 40 === 5 ? `${line} changed` : line)))
  await ready(page)
  const second = page.getByRole('checkbox', { name: /^Change 2/ })
  await second.uncheck()
  await page.getByRole('group', { name: /^Answers to / }).getByRole('button', { name: 'Approve 2 of 3 changes' }).click()
  const { text, code } = await result
  assert.equal(code, '', text)
  assert.equal(await rig.read('a.txt'), numbered(90, (i, line) => (i === 5 || i === 85 ? `${line} changed` : line)))
  assert.ok((await rig.trail()).some((e) => e.decision === 'edited' && e.by === 'person desk'))
}

/** A person changes the text before it is written; every other byte stays, line ends too. */
export async function edit({ rig, enter, assert }) {
  const page = await enter()
  const result = write(rig, 'a.txt', 'first\r\nsecond\nthird')
  await ready(page)
  await button(page, /^Edit/).click()
  const text = page.getByRole('textbox', { name: 'the text that would be written' })
  await text.click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type(' and last')
  await button(page, 'Approve what I edited').click()
  assert.equal((await result).code, '')
  assert.equal(await rig.read('a.txt'), 'first\r\nsecond\nthird and last')
  await done(page, 'edited and approved by desk')
}

/** An edited text is not lost if the person leaves it by mistake. */
export async function discard({ rig, enter }) {
  const page = await enter()
  write(rig, 'a.txt', 'x\n').catch(() => {})
  await ready(page)
  await button(page, /^Edit/).click()
  await page.getByRole('textbox', { name: 'the text that would be written' }).click()
  await page.keyboard.type('kept ')
  await button(page, 'Stop editing').click()
  await page.getByRole('button', { name: 'Back' }).click()
  await page.getByText('kept').first().waitFor()
  await button(page, 'Stop editing').click()
  await page.getByRole('button', { name: 'Discard' }).click()
  await button(page, /^Edit/).waitFor()
}

/** A pattern also answers other open questions, and later ones. (FILE-6) */
export async function pattern({ rig, enter, assert }) {
  const page = await enter()
  const first = write(rig, 'docs/a.md', 'a\n')
  const other = write(rig, 'docs/b.md', 'b\n')
  await item(page, 'docs/b.md').waitFor()
  await item(page, 'docs/a.md').click()
  await ready(page)
  await button(page, /^Pattern/).click()
  const input = page.getByRole('textbox', { name: 'Pattern' })
  assert.equal(await input.inputValue(), 'docs/**')
  await page.getByRole('button', { name: 'Approve', exact: true }).click()
  assert.deepEqual([(await first).code, (await other).code], ['', ''])
  assert.equal((await write(rig, 'docs/c.md', 'c\n')).code, '')
  await done(page, 'approved by pattern by desk')
}

/** If a pattern does not match the path, the page says so, and the question stays open. */
export async function badPattern({ rig, enter }) {
  const page = await enter()
  write(rig, 'docs/a.md', 'a\n').catch(() => {})
  await ready(page)
  await button(page, /^Pattern/).click()
  await page.getByRole('textbox', { name: 'Pattern' }).fill('src/*')
  await page.getByRole('button', { name: 'Approve', exact: true }).click()
  await page.getByRole('alert').getByText('does not match').waitFor()
  await ready(page)
}

/** A person approves all further writes of the session. */
export async function session({ rig, enter, assert }) {
  const page = await enter()
  const first = write(rig, 'a.txt', 'a\n')
  await ready(page)
  await button(page, /^Session/).click()
  await page.getByRole('button', { name: 'Approve all of it' }).click()
  assert.equal((await first).code, '')
  assert.equal((await write(rig, 'b.txt', 'b\n')).code, '')
}

/** Two people look at one question: the first answer counts, and the other person sees who gave it. */
export async function people({ rig, enter, assert }) {
  const [desk, lab] = [await enter('desk'), await enter('lab')]
  const result = write(rig, 'a.txt', 'a\n')
  await Promise.all([ready(desk), ready(lab)])
  await button(lab, /^Approve/).click()
  assert.equal((await result).code, '')
  await desk.getByText('No longer open: approved by lab').waitFor()
  assert.equal(await button(desk, /^Approve/).count(), 0)
  await desk.keyboard.press('a') // the key answers no question
  assert.ok((await rig.trail()).some((e) => e.by === 'person lab' && e.outcome === 'ok'))
}

/** The connection is lost, and questions open and close in that time. Then the page shows the current ones. */
export async function reconnect({ rig, enter, assert }) {
  const [desk, lab] = [await enter('desk'), await enter('lab')]
  const first = write(rig, 'a.txt', 'a\n')
  await Promise.all([ready(desk), ready(lab)])
  await rig.down()
  await desk.getByText('No connection to stet').waitFor()
  const second = write(rig, 'b.txt', 'b\n', 'session-2')
  await button(desk, /^Approve/).click()
  await desk.getByRole('alert').getByText('stet cannot be reached').waitFor()
  await rig.up()
  await item(desk, 'b.txt').waitFor()
  await desk.getByText('No connection to stet').waitFor({ state: 'detached' })
  await ready(desk)
  await button(desk, /^Approve/).click()
  assert.equal((await first).code, '')
  await item(desk, 'b.txt').click()
  await ready(desk)
  await button(desk, /^Approve/).click()
  assert.equal((await second).code, '')
  await lab.getByText('No longer open').waitFor()
}

/**
 * stet ends, and another program takes its port, while a page is open. The page says
 * so, and sends only hellos. stet refuses later what the program has received, and the
 * page continues when stet runs again.
 */
export async function impostor({ rig, enter, assert }) {
  const page = await enter()
  const result = write(rig, 'a.txt', 'a\n')
  await ready(page)
  await rig.impostor()
  await page.getByRole('alert').getByText('This is not the stet that you logged in to').waitFor()
  await button(page, /^Approve/).click()
  await page.getByRole('alert').getByText('Nothing is sent to it').nth(1).waitFor() // for the answer that failed
  await button(page, /^Edit/).click() // needs a script, and the other program would send its own
  for (const view of ['Savings', 'Approvals']) await page.getByRole('link', { name: view }).click()
  assert.deepEqual((await rig.restart()) ?? [], [], 'the replay was taken')
  const stolen = (await rig.stolen()).filter((s) => s.URI !== '/favicon.svg') // the browser itself loads this one
  assert.ok(stolen.length > 0)
  for (const s of stolen) {
    assert.equal(s.URI, '/api/hello')
    assert.equal(s.Header.Cookie, undefined)
    assert.deepEqual(Object.keys(JSON.parse(atob(s.Body))).sort(), ['login', 'mac', 'nonce'])
    assert.ok(!/token-of/.test(JSON.stringify(s.Header) + s.URI + atob(s.Body)), 'a secret')
  }
  await page.locator('.banner').waitFor({ state: 'detached' })
  await item(page, 'a.txt').click()
  await ready(page)
  await button(page, /^Approve/).click()
  assert.equal((await result).code, '')
}

/** A new page at another server, with the login of stet, asks for no token. */
export async function impostorAtBegin({ rig, enter }) {
  const page = await enter()
  await page.route('**/api/hello', (route) => route.fulfill({ json: { channel: 'mine', mac: 'mine' } }))
  await page.reload()
  await page.getByRole('alert').getByText('This is not the stet that you logged in to').waitFor()
  await page.getByLabel('Token').waitFor({ state: 'detached' })
  await page.unroute('**/api/hello')
  await page.getByRole('button', { name: 'Forget the login' }).click()
  await page.getByLabel('Token').fill('token-of-lab')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('lab').waitFor()
}

/** After a restart of stet people are still logged in, in an open page and in a new one. */
export async function restart({ rig, enter, assert }) {
  const page = await enter()
  await rig.restart()
  const result = write(rig, 'a.txt', 'a\n')
  await ready(page)
  await button(page, /^Approve/).click()
  assert.equal((await result).code, '')
  await page.reload()
  await page.getByText('No agent waits for you.').waitFor()
}

/** At an http address of another machine, browsers have no crypto.subtle. */
export async function noSubtle({ rig, enter, assert }) {
  const page = await enter(null)
  await page.addInitScript(() => Object.defineProperty(crypto, 'subtle', { value: undefined }))
  await page.goto(`${rig.base}/#token=token-of-desk`)
  const result = write(rig, 'a.txt', 'a\n')
  await ready(page)
  await page.reload()
  await ready(page)
  await button(page, /^Approve/).click()
  assert.equal((await result).code, '')
}

/** The page reports once what opened and closed while there was no connection, and who closed it. */
export async function missed({ rig, enter, assert }) {
  const page = await enter()
  write(rig, 'a.txt', 'a\n').catch(() => {})
  await ready(page)
  await rig.down()
  await page.getByText('No connection to stet').waitFor()
  write(rig, 'b.txt', 'b\n', 'session-2').catch(() => {})
  await rig.opened(2)
  await rig.answer()
  write(rig, 'c.txt', 'c\n', 'session-3').catch(() => {})
  await rig.opened(1)
  await rig.up()
  await page.getByText('No longer open: rejected by lab').waitFor() // the visible question
  await item(page, 'c.txt').waitFor()
  assert.deepEqual(await page.locator('.done li').allInnerTexts(), ['b.txt rejected by lab', 'a.txt rejected by lab'])
  assert.equal(await page.getByRole('region', { name: 'Open questions' }).getByRole('link').count(), 1)
  await page.reload() // a new page reports it too
  await page.getByText('No longer open: rejected by lab').waitFor()
  await item(page, 'c.txt').waitFor()
  assert.deepEqual(await page.locator('.done li').allInnerTexts(), ['b.txt rejected by lab', 'a.txt rejected by lab'])
}

/** A tool of another program: its arguments are shown with escapes, and no path is invented. */
export async function outside({ rig, enter, assert, axe }) {
  const page = await enter()
  const verdict = rig.outside()
  await page.getByRole('region', { name: 'arguments' }).getByText('<b>stage</b>\\u202e').waitFor()
  await page.locator('.warning', { hasText: 'not confined to the workspace' }).waitFor()
  await ready(page)
  assert.equal(await button(page, /^Pattern|^Edit/).count(), 0)
  assert.deepEqual(await axe(page), [])
  await button(page, /^Session/).click()
  await page.getByText('runs deploy in this session from now on').waitFor()
  await page.getByRole('button', { name: 'Approve all of it' }).click()
  assert.equal(await verdict, 'session')
}

/** A dialog shows which keys there are. */
export async function keys({ rig, enter }) {
  const page = await enter()
  write(rig, 'a.txt', 'a\n').catch(() => {})
  await ready(page)
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keys' }).getByText('edit before approving').waitFor()
  await page.keyboard.press('a') // while the dialog is open, the key answers no question
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await ready(page)
}

/** There are more tabs than a browser allows connections. All get events, also after the tab with the stream is closed. */
export async function tabs({ rig, enter, assert }) {
  const first = await enter()
  const all = [first]
  while (all.length < 8) {
    const tab = await first.context().newPage()
    await tab.goto(rig.base)
    await tab.getByText('No agent waits for you.').waitFor()
    all.push(tab)
  }
  const result = write(rig, 'a.txt', 'a\n')
  for (const tab of all) await tab.bringToFront().then(() => ready(tab))
  await button(all[7], /^Approve/).click()
  assert.equal((await result).code, '')
  for (const tab of all.slice(0, 7)) await tab.getByText('No longer open: approved by desk').waitFor()
  await first.close()
  write(rig, 'b.txt', 'b\n').catch(() => {})
  for (const tab of all.slice(1)) await item(tab, 'b.txt').waitFor()
}

/** A late answer about the open questions does not remove questions that were opened after it. */
export async function late({ rig, enter }) {
  const page = await enter(null)
  let held = false
  let asked
  const again = new Promise((done) => (asked = done))
  await page.route('**/api/questions', async (route) => {
    if (held) {
      await route.continue()
      return asked()
    }
    held = true
    const answer = await route.fetch() // no question is open
    write(rig, 'a.txt', 'a\n').catch(() => {})
    await item(page, 'a.txt').waitFor()
    await route.fulfill({ response: answer })
  })
  await page.goto(`${rig.base}/#token=token-of-desk`)
  await ready(page)
  await again // the page has asked again
  await ready(page)
  await item(page, 'a.txt').waitFor()
}

/** 10,000 lines are shown with few elements, and can be scrolled to the end. */
export async function large({ rig, enter, assert }) {
  const most = 10_000
  await rig.write('big.txt', numbered(most))
  await read(rig, 'big.txt')
  const page = await enter()
  const result = write(rig, 'big.txt', numbered(most, (_, line) => line + ' is another one'))
  await page.locator('.row.added').first().waitFor()
  assert.ok((await page.locator('.row').count()) < 400)
  const pane = page.getByRole('region', { name: 'after' })
  await pane.evaluate((e) => (e.scrollTop = e.scrollHeight))
  await page.getByText(`line ${most} is another one`).waitFor()
  await page.locator('.row.removed', { hasText: `line ${most}` }).waitFor() // the other side has scrolled too
  assert.ok((await page.locator('.row').count()) < 400)
  await ready(page)
  await button(page, /^Approve/).click()
  await page.getByRole('button', { name: 'Approve it unseen' }).click() // the change is too large to be seen at once
  assert.equal((await result).code, '')
}

/** Markup, control characters and characters that change the direction of text are shown with escapes. */
export async function hostile({ rig, enter, assert }) {
  const evil = [
    '<img src=x onerror="window.owned=1"><script>window.owned=1</script>',
    'access = "user\u202e \u2066// admin only\u2069 \u2066"',
    'bell \u0007 escape \u001b[31m red, null \u0000, zero width \u200b, tag \u{e0041}',
    'javascript:alert(1) {{7*7}} ${7*7} &lt;b&gt; </code></div>',
  ].join('\n')
  const page = await enter()
  const path = 'docs/<b>bold</b>\u202etxt.exe'
  write(rig, path, evil + '\n', 'session <i>1</i>').catch(() => {})
  await page.locator('.row.added').first().waitFor()
  const shown = await page.locator('.pane').innerText()
  for (const text of ['<img src=x onerror=', '\\u202e', '\\u2066', '\\x07', '\\x1b[31m', '\\x00', '\\u200b', '\\U000e0041', '</code></div>', '&lt;b&gt;']) {
    assert.ok(shown.includes(text), `${text} is not shown`)
  }
  const all = await page.evaluate(() => document.documentElement.innerHTML)
  for (const raw of ['\u202e', '\u2066', '\u001b', '\u0007', '\u200b']) assert.ok(!all.includes(raw), `${JSON.stringify(raw)} is in the page`)
  assert.equal(await page.evaluate(() => window.owned), undefined)
  assert.equal(await page.locator('main img, main b b, main i').count(), 0)
  await page.locator('.warning', { hasText: 'characters that are not seen' }).waitFor()
  await page.goto(`${rig.base}/#/audit`)
  assert.ok(!(await page.title()).includes('\u202e'))
}

/** Hostile characters of a text are shown with escapes in the editor, too. */
export async function hostileEditor({ rig, enter, assert }) {
  const page = await enter()
  write(rig, 'a.txt', 'x \u202e y \u200b z <img src=x onerror="window.owned=1">\n').catch(() => {})
  await ready(page)
  await button(page, /^Edit/).click()
  await page.locator('.cm-specialChar').first().waitFor()
  assert.equal(await page.locator('.cm-specialChar').count(), 2)
  assert.equal(await page.evaluate(() => window.owned), undefined)
}

/** A line of 50,000 characters can be read to its end, without scrolling to the side. */
export async function longLine({ rig, enter, assert }) {
  const page = await enter()
  const result = write(rig, 'min.js', 'x'.repeat(50_000) + 'the end\n')
  await ready(page)
  for (const width of [1280, 400]) {
    await page.setViewportSize({ width, height: 800 })
    await page.waitForFunction(() => {
      const pane = document.querySelector('.pane')
      pane.scrollTop = pane.scrollHeight
      const end = [...pane.querySelectorAll('.row.added code')].at(-1)
      const [text, box] = [end.getBoundingClientRect(), pane.getBoundingClientRect()]
      return end.textContent.endsWith('d') && text.right <= box.right && text.bottom <= box.bottom + 1 && pane.scrollWidth <= pane.clientWidth
    })
  }
  await page.keyboard.press('a')
  assert.equal((await result).code, '')
}

/** All functions work on a phone. */
export async function phone({ rig, enter, assert }) {
  const page = await enter('desk', { viewport: { width: 375, height: 667 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 })
  const result = write(rig, 'internal/a/long/way/down/to/a.txt', 'a\n'.repeat(40))
  await item(page, 'a.txt').tap()
  await ready(page)
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  assert.ok(wider <= 0, `the page is ${wider} px wider than the screen`)
  for (const b of await page.locator('.answers button').all()) {
    const box = await b.boundingBox()
    assert.ok(box.height >= 40 && box.y + box.height <= 667, 'a button is too small, or out of sight')
  }
  await button(page, /^Approve/).tap()
  assert.equal((await result).code, '')
  await page.getByRole('heading', { name: 'Approvals' }).waitFor()
}

/** All functions work without a mouse: going to the question and to its changes, and the answers. */
export async function keyboard({ rig, enter, assert }) {
  await rig.write('a.txt', numbered(90))
  await read(rig, 'a.txt')
  const page = await enter()
  const first = write(rig, 'a.txt', numbered(90, (i, line) => (i % 40 === 5 ? `${line} changed` : line)))
  await item(page, 'a.txt').waitFor()
  const second = write(rig, 'b.txt', 'b\n')
  await item(page, 'b.txt').waitFor()
  await ready(page)
  await page.keyboard.press('n')
  await page.keyboard.press('x') // leaves out the selected change
  await button(page, 'Approve 2 of 3 changes').waitFor()
  await page.keyboard.press('x')
  await page.keyboard.press('j')
  await page.locator('.question h1', { hasText: 'b.txt' }).waitFor()
  await ready(page)
  await page.keyboard.press('r')
  await page.locator('dialog textarea:focus').waitFor()
  await page.keyboard.type('not aqrs')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  assert.match((await second).text, /not aqrs/)
  await page.locator('.question h1', { hasText: 'a.txt' }).waitFor()
  await ready(page)
  await page.keyboard.press('a')
  assert.equal((await first).code, '')
}

/** A key that a person pressed for one question does not answer the question that takes its place. */
export async function habit({ rig, enter, assert }) {
  const page = await enter()
  const first = write(rig, 'a.txt', 'a\n')
  await item(page, 'a.txt').waitFor()
  const second = write(rig, 'b.txt', 'b\n')
  await item(page, 'b.txt').waitFor()
  await ready(page)
  await page.evaluate(() => {
    const press = () => document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', bubbles: true }))
    new MutationObserver(() => {
      if (document.querySelector('.question h1')?.textContent.includes('b.txt') && !globalThis.pressed) {
        globalThis.pressed = true
        for (let i = 0; i < 5; i++) press()
      }
    }).observe(document.body, { childList: true, subtree: true, characterData: true })
    for (let i = 0; i < 5; i++) press()
  })
  assert.equal((await first).code, '')
  await page.locator('.question h1', { hasText: 'b.txt' }).waitFor()
  await ready(page)
  assert.ok(await page.evaluate(() => globalThis.pressed))
  assert.equal(await rig.read('b.txt'), null)
  await page.keyboard.press('a')
  assert.equal((await second).code, '')
}

/** The call ends before a person has answered: the question closes, and says why. */
export async function withdrawn({ rig, enter, assert }) {
  const page = await enter()
  const stop = new AbortController()
  const call = fetch(process.env.STET_CONTROL + '/call', {
    method: 'POST',
    body: JSON.stringify({ session: 's', tool: 'write_file', args: { path: 'a.txt', content: 'a\n' } }),
    signal: stop.signal,
  })
  await ready(page)
  stop.abort()
  await assert.rejects(call)
  await page.getByText('No longer open: withdrawn').waitFor()
}

/** More than a hundred changed lines need a second key. Its diff has the colours of its language. */
export async function manyLines({ rig, enter, assert }) {
  const page = await enter()
  const result = write(rig, 'many.go', 'package many // of them\n' + numbered(120, (i) => `var v${i} = "text"`))
  await ready(page)
  await page.locator('.row .keyword', { hasText: 'package' }).waitFor()
  await page.locator('.row .comment', { hasText: '// of them' }).waitFor()
  assert.ok((await page.locator('.row .string', { hasText: '"text"' }).count()) > 10)
  await page.keyboard.press('a')
  await page.getByRole('dialog').getByText('121 come and 0 go.').waitFor()
  assert.equal(await rig.read('many.go'), null)
  await page.keyboard.press('y')
  assert.equal((await result).code, '')
  assert.match(await rig.read('many.go'), /^package many/)
}

/** Ctrl and Enter send a rejection; Enter alone begins a new line. */
export async function rejectByKeys({ rig, enter, assert }) {
  const page = await enter()
  const result = write(rig, 'a.txt', 'x\n')
  await ready(page)
  await page.keyboard.press('r')
  await page.keyboard.press('Tab')
  await page.getByRole('textbox').focus()
  await page.keyboard.type('No:')
  await page.keyboard.press('Enter')
  await page.keyboard.type('use docs.')
  await page.keyboard.press('Control+Enter')
  const { text, code } = await result
  assert.equal(code, 'user_rejected')
  assert.match(JSON.parse(text).error, /No:\s*use docs\./)
}

/** A command of an agent's own is answered on a phone, light and dark, by touch and by the keyboard alone. Only an admin sees it. (GRD-1) */
export async function native({ rig, enter, assert, axe }) {
  const long = 'rm -rf build/output/of/a/very/long/path/that/does/not/fit && echo done'
  for (const [width, colorScheme] of [[390, 'light'], [390, 'dark'], [320, 'light'], [320, 'dark']]) {
    const page = await enter('owner', { viewport: { width, height: 844 }, hasTouch: true, isMobile: true, colorScheme })
    const asked = rig.native(long)
    await item(page, 'rm -rf').tap()
    await ready(page)
    await page.getByText('this deletes files').waitFor()
    await page.getByText('Water the garden').first().waitFor()
    await page.getByText('whoever reads the ntfy topic can press them').waitFor()
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(wider <= 0, `${width} ${colorScheme}: the page is ${wider} px wider than the screen`)
    assert.deepEqual(await axe(page), [])
    for (const b of await page.locator('.answers button').all()) {
      const box = await b.boundingBox()
      assert.ok(box.height >= 40 && box.y + box.height <= 844, `${width}: a button is too small, or out of sight`)
    }
    await button(page, /^Approve/).tap()
    assert.deepEqual(await asked, { verdict: 'approve', words: '', by: 'owner' })
    await page.context().close()
  }
  const other = await enter('lab')
  const page = await enter('owner')
  const asked = rig.native('touch two')
  await ready(page)
  write(rig, 'a.txt', 'a\n').catch(() => {})
  await item(other, 'a.txt').waitFor() // the other page has what was asked after the command
  assert.equal(await item(other, 'touch two').count(), 0)
  await page.keyboard.press('r')
  await page.locator('dialog textarea:focus').waitFor()
  await page.keyboard.type('ask the gardener first')
  await page.keyboard.press('Control+Enter')
  assert.deepEqual(await asked, { verdict: 'reject', words: 'ask the gardener first', by: 'owner' })
}

/** The link in a message holds no right: a preview that fetches it decides nothing, and who opens it signs in. An old and a wrong link say so. (GRD-1) */
export async function link({ rig, enter, assert }) {
  const asked = rig.native('touch one')
  await rig.opened(1)
  const id = (await rig.open())['touch one']
  const api = `${rig.base}/api/questions/${id}`
  for (const [method, at, want] of [['GET', `${rig.base}/`, 200], ['GET', api, 401], ['GET', api + '/answer', 401], ['POST', api + '/answer', 401]]) {
    const answer = await fetch(at, { method, body: method === 'POST' ? '{"verdict":"approve","seal":"seal"}' : undefined })
    assert.ok(answer.status === want || (want === 401 && answer.status >= 400), `${method} ${at}: ${answer.status}`)
  }
  const page = await enter(null)
  await page.goto(`${rig.base}/#/queue/${id}`)
  await page.getByRole('textbox').fill('token-of-owner')
  await page.keyboard.press('Enter')
  await ready(page)
  assert.equal(Object.keys(await rig.open()).length, 1, 'a link has decided')
  const other = await enter('lab')
  await other.goto(`${rig.base}/#/queue/${id}`)
  await other.getByText('no such question').first().waitFor()
  await button(page, /^Approve/).click()
  assert.equal((await asked).verdict, 'approve')
  await page.goto(`${rig.base}/#/queue/${id}`)
  await page.getByText('approved by owner').first().waitFor()
  await page.goto(`${rig.base}/#/queue/wrong`)
  await page.getByText('no such question').first().waitFor()
}

/** A flood of 500 questions: the page shows them, and the first can still be answered. (GRD-1) */
export async function flood({ rig, enter, assert }) {
  const all = Array.from({ length: 500 }, (_, i) => rig.native(`touch file-${i}.`).catch(() => {}))
  await rig.opened(500)
  const page = await enter('owner')
  await page.getByText('500 open').waitFor()
  await item(page, 'touch file-0.').click()
  await ready(page)
  await button(page, /^Approve/).click()
  assert.equal((await all[0]).verdict, 'approve')
  await page.getByText('499 open').waitFor()
}

// Whether the views are readable and accessible in every theme, and fit on every screen.

const main = (page) => page.getByRole('main')
const ready = (page) => page.locator('.answers button.primary:not([disabled])').waitFor()
const phone = { viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 }

const smallPhone = { ...phone, viewport: { width: 320, height: 568 } }
const tablet = { viewport: { width: 820, height: 1100 } }

async function go(page, name) {
  await page.getByRole('navigation').getByRole('link', { name }).click()
  await main(page).getByRole('heading', { name, level: 1 }).waitFor()
}

/** there waits until a view shows its content. */
const there = {
  Savings: async (page) => {
    await page.locator('canvas').nth(2).waitFor()
    await page.getByText('used by the whole account').first().waitFor()
    await page.getByRole('button', { name: 'Stop' }).waitFor()
  },
  Files: (page) => page.getByRole('cell', { name: 'as it was seen' }).first().waitFor(),
  Audit: (page) => page.getByRole('rowheader').first().waitFor(),
  Settings: (page) => page.getByText('Logged in as').waitFor(),
}

/** In each theme, every view has what assistive technology needs: names, roles and contrast. */
async function accessible(colorScheme, size, { rig, enter, assert, axe }) {
  await rig.seed()
  await rig.write('a.txt', 'a\nb\n')
  await rig.call('read_file', { path: 'a.txt' })
  const page = await enter(null, { colorScheme, ...size })
  const check = async (what) => assert.deepEqual(await axe(page), [], `${what}, ${colorScheme}`)
  await page.goto(rig.base)
  await page.getByLabel('Token').waitFor()
  await check('the login')
  await page.goto(`${rig.base}/#token=token-of-desk`)
  await page.getByText('No agent waits for you.').waitFor()
  await check('nothing open')
  for (const name of ['Files', 'Audit']) {
    await go(page, name)
    await there[name](page)
    await check(name)
  }
  await go(page, 'Approvals')
  await rig.write('a.go', 'package a\n\nvar n = m\n')
  const code = rig.call('write_file', { path: 'a.go', content: 'package a\n\nvar n = 25 // times\n' })
  await page.getByRole('link', { name: /a\.go/ }).click()
  await ready(page)
  await page.locator('mark.comment').waitFor()
  await check('a change in a line of code')
  await page.locator('.answers').getByRole('button', { name: /^Approve/ }).click()
  await code
  const call = rig.call('write_file', { path: 'a.txt', content: `${colorScheme}\nb\n\u202e` })
  await page.getByRole('link', { name: /a\.txt/ }).click()
  await ready(page)
  await check('a question')
  for (const button of [/^Reject/, /^Edit/]) {
    await page.locator('.answers').getByRole('button', { name: button }).click()
    await page.locator('dialog, .cm-content').waitFor()
    await check(String(button))
    await page.getByRole('button', { name: /^Back|Stop editing/ }).click()
    await page.locator('dialog, .cm-content').waitFor({ state: 'detached' })
  }
  await page.locator('.answers').getByRole('button', { name: /^Approve/ }).click()
  await call
  await rig.write('a.txt', 'by somebody else\n')
  await go(page, 'Files')
  await page.getByRole('button', { name: /^Undo write/ }).first().click()
  await page.getByText('On disk it has changed.').waitFor()
  await check('an undo')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await go(page, 'Sessions')
  await check('a list of sessions')
  await page.getByRole('link', { name: /retry budget/ }).click()
  await page.getByText('No. Keep it small.').waitFor()
  await check('a session')
  await page.goto(`${rig.base}/#/sessions/${encodeURIComponent('~' + short.timeline)}`)
  await page.getByText('4 texts left out').first().click()
  await page.getByText(/The prompt cache .* next request costs about /).waitFor()
  await check('a timeline')
  for (const name of ['Savings', 'Settings']) {
    await go(page, name)
    await there[name](page)
    await check(name)
  }
}

export const light = (t) => accessible('light', {}, t)
export const dark = (t) => accessible('dark', {}, t)
export const lightPhone = (t) => accessible('light', phone, t)
export const darkPhone = (t) => accessible('dark', smallPhone, t)

/** What costs money is accessible in each theme on each phone: the meters, the limits, what runs with its button, and when a cache ends. */
export async function money({ rig, enter, assert, axe }) {
  await rig.seed()
  for (const colorScheme of ['light', 'dark']) {
    for (const size of [phone, smallPhone]) {
      const page = await enter('desk', { colorScheme, ...size })
      const check = async (what) => {
        assert.deepEqual(await axe(page), [], `${what}, ${colorScheme}, ${size.viewport.width} px`)
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${what} is wider than ${size.viewport.width} px`)
      }
      await go(page, 'Savings')
      await there.Savings(page)
      await check('savings')
      await page.getByRole('button', { name: 'Stop' }).click()
      await page.getByRole('button', { name: 'Let it go on' }).waitFor()
      await check('stopped')
      await page.getByRole('button', { name: 'Let it go on' }).click()
      await page.getByRole('button', { name: 'Stop' }).waitFor()
      await page.goto(`${rig.base}/#/sessions/${encodeURIComponent('~' + short.timeline)}`)
      await page.getByText(/The prompt cache .* next request costs about /).waitFor()
      await check('a timeline')
    }
  }
}

/** With short and long names, no view is wider than the screen, no table needs to be scrolled to the side, and no text is cut off. */
export async function fits({ rig, enter, assert }) {
  const first = await prepare(rig, enter, long)
  await first.close()
  for (const size of [{}, tablet, phone, smallPhone]) {
    const page = await enter('desk', size)
    const check = async (what) => {
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      assert.ok(wider <= 0, `${what} is ${wider} px wider than the screen`)
      const higher = await page.evaluate(() => document.documentElement.scrollHeight - innerHeight)
      assert.ok(higher <= 0, `${what}: ${higher} empty px can be scrolled to below the page`)
      const cut = await page.locator('.scroll, .list, .page, .switch, .question > header').evaluateAll((all) =>
        all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => `${e.className}: ${e.scrollWidth} in ${e.clientWidth} px`),
      )
      assert.deepEqual(cut, [], what)
      assert.ok(await page.locator('.pane').evaluateAll((all) => all.every((e) => e.scrollWidth <= e.clientWidth)), `${what}: a difference must be scrolled to the side`)
      const high = await page.locator('th .path').evaluateAll((all) => Math.max(0, ...all.map((e) => e.getBoundingClientRect().height)))
      assert.ok(high < 90, `${what} has a path of ${high} px, one word a line`)
    }
    await page.getByRole('link', { name: /retry\.go/ }).first().click()
    await ready(page)
    await check('a question')
    for (const name of Object.keys(there)) {
      await go(page, name)
      await there[name](page)
      await check(name)
    }
    await page.goto(`${rig.base}/#/sessions`)
    await page.getByRole('link', { name: /retry budget/ }).click()
    await page.getByText('No. Keep it small.').waitFor()
    await check('a session')
    await page.goto(`${rig.base}/#/sessions/${encodeURIComponent('~' + long.timeline)}`)
    await page.getByText('4 texts left out').first().click()
    await check('a timeline')
  }
}

/** Names as long as those of real projects and agents. */
const long = {
  dir: 'packages/customer-onboarding/src/features/identity-verification/components/DocumentUpload/',
  client: 'claude-code 2.1.207 (external, sdk-cli, agent-sdk/0.2.114)',
  timeline: 'claude-code/2.1.207-00',
  sessions: ['mcp-0198c2f4-7be1-7c60-9f5e-3b1f6c0d94aa', 'mcp-0198c2f4-9d03-7f12-8a44-c1b2d3e4f506'],
}
const short = { dir: '', client: '', timeline: 'example-agent-20', sessions: ['session-1', 'session-2'] }

/** prepare adds data for every view, and leaves two questions open. */
async function prepare(rig, enter, names = short) {
  const { dir, client, sessions } = names
  await rig.seed(names === long)
  const source = (change) => Array.from({ length: 44 }, (_, i) => change(i + 1)).join('')
  const before = source((i) => (i % 6 === 1 ? `// step${i} does its part.\n` : i % 6 === 2 ? `func step${i}(ctx context.Context) error {\n` : i % 6 === 5 ? '}\n' : i % 6 === 0 ? '\n' : '\treturn upload(ctx, retry)\n'))
  const after = before
    .replace('step8(ctx context.Context)', 'step8(ctx context.Context, n int)')
    .replace('upload(ctx, retry)', 'upload(ctx, budget(n))')
    .replace('// step37 does its part.\n', '// step37 does its part, five times at most.\n// It then gives up.\n')
  const call = (tool, args, session = sessions[0]) => rig.call(tool, args, session, client)
  await rig.write(dir + 'internal/upload/retry.go', before)
  const page = await enter()
  for (const path of ['internal/upload/budget.go', 'internal/upload/budget_test.go', 'docs/limits.md']) {
    const done = call('write_file', { path: dir + path, content: before, create_dirs: true })
    await page.locator('.question h1', { hasText: path }).waitFor()
    await page.locator('.answers button.primary:not([disabled])').click()
    await done
  }
  await rig.write(dir + 'docs/limits.md', 'Changed by hand.\n')
  const refused = call('write_file', { path: dir + 'Makefile', content: 'all:\n' })
  await page.locator('.question h1', { hasText: 'Makefile' }).waitFor()
  await ready(page)
  await page.keyboard.press('c')
  await refused
  await call('read_file', { path: '../secrets' })
  await call('read_file', { path: dir + 'internal/upload/retry.go' })
  call('write_file', { path: dir + 'internal/upload/retry.go', content: after }).catch(() => {})
  await rig.opened(1)
  call('write_file', { path: dir + 'docs/uploads.md', content: '# Uploads\n\nAn upload retries five times.\n', create_dirs: true }, sessions[1]).catch(() => {})
  await rig.opened(2)
  return page
}

/** With the keyboard alone every control of every view is reached, and it can be seen where the focus is. */
export async function keyboard({ rig, enter, assert }) {
  const first = await prepare(rig, enter)
  await first.close()
  const page = await enter('desk')
  /** until presses Tab until done returns true of the element with the focus; done runs in the page. */
  const until = async (what, done, arg) => {
    for (let i = 0; i < 400; i++) {
      await page.keyboard.press('Tab')
      if (await page.evaluate(`(${done})(document.activeElement, ${JSON.stringify(arg)})`)) return
    }
    assert.fail(`${what}: not reached by Tab: ${await page.evaluate(() => globalThis.missed?.().join(', '))}`)
  }
  const all = async (what) => {
    await page.evaluate(() => {
      const seen = new Set()
      const controls = () => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
        .filter((e) => !e.disabled && e.tabIndex >= 0 && e.checkVisibility() && !(e.type === 'radio' && !e.checked))
      const shown = (e) => { const s = getComputedStyle(e); return s.outlineStyle !== 'none' || s.boxShadow !== 'none' }
      globalThis.see = (e) => { if (shown(e)) seen.add(e) }
      globalThis.missed = () => controls().filter((e) => !seen.has(e)).map((e) => e.outerHTML.slice(0, 120))
    })
    await until(what, '(e) => (see(e), missed().length === 0)')
  }
  await page.getByText('retry.go').first().waitFor()
  await all('the questions')
  for (const name of ['Sessions', ...Object.keys(there)]) {
    await until(name, '(e, name) => e.closest("nav") && e.textContent.trim().startsWith(name)', name)
    await page.keyboard.press('Enter')
    await main(page).getByRole('heading', { name, level: 1 }).waitFor()
    await there[name]?.(page)
    await all(name)
  }
}

/** The pictures that the documentation shows. There are more views. */
const documented = ['approvals-light', 'approvals-dark', 'phone-light', 'phone-dark', 'session-light', 'timeline-dark', 'savings-light', 'files-dark']

/** pictures draws the pictures of the documentation as small WebP. If all are wanted, it draws every view as PNG. */
export async function pictures({ rig, enter, save }) {
  const names = rig.every ? long : short
  const first = await prepare(rig, enter, names)
  await first.close()
  for (const colorScheme of ['light', 'dark']) {
    for (const [kind, size] of [['', {}], ['phone-', phone], ...(rig.every ? [['tablet-', tablet], ['small-', smallPhone]] : [])]) {
      const page = await enter('desk', { colorScheme, reducedMotion: 'reduce', ...size })
      const draw = async (view) => {
        const name = `${kind}${view}-${colorScheme}`
        const documents = documented.find((d) => d === name || (d === `phone-${colorScheme}` && name === `phone-approvals-${colorScheme}`))
        await page.mouse.move(0, 0)
        if (rig.every) await page.screenshot({ path: `${rig.pictures}/${name}.png` })
        else if (documents) await save(page, documents)
      }
      if (size === phone || size === smallPhone) await draw('list')
      await page.getByRole('link', { name: /retry\.go/ }).first().click()
      await ready(page)
      await draw('approvals')
      await go(page, 'Sessions')
      await page.getByRole('link', { name: /retry budget/ }).click()
      await page.getByText('No. Keep it small.').waitFor()
      await draw('session')
      await page.goto(`${rig.base}/#/sessions/${encodeURIComponent('~' + names.timeline)}`)
      await page.getByText('2 texts left out').last().click()
      await page.locator('.page').evaluate((e) => (e.scrollTop = 0))
      await draw('timeline')
      for (const name of Object.keys(there)) {
        await go(page, name)
        await there[name](page)
        await draw(name.toLowerCase())
      }
      await go(page, 'Files')
      await page.getByRole('button', { name: /^All of the session/ }).first().click()
      await page.getByText('Cannot be undone').first().waitFor()
      await draw('undo')
      await page.context().close()
    }
  }
}

// The other views.

const main = (page) => page.getByRole('main')

async function go(page, name) {
  await page.getByRole('navigation').getByRole('link', { name }).click()
  await main(page).getByRole('heading', { name, level: 1 }).waitFor()
}

/** Nobody sees anything without a token, and after logging out. */
export async function login({ house, enter, assert }) {
  const page = await enter(null)
  await page.goto(house.base)
  await page.getByLabel('Token').fill('wrong')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('alert').getByText('not valid').waitFor()
  await page.getByLabel('Token').fill(`${house.base}/#token=token-of-ben`) // the whole link will do
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('ben').waitFor()
  await page.reload()
  await page.getByText('ben').waitFor()
  assert.equal(await page.evaluate(() => document.cookie), '')
  await go(page, 'Settings')
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Token').waitFor()
  await page.reload()
  await page.getByLabel('Token').waitFor()
}

/** Sessions are found, read, rewound, forked, exported. */
export async function sessions({ house, enter, assert }) {
  await house.seed()
  const page = await enter()
  await go(page, 'Sessions')
  await page.getByRole('searchbox').fill('mondays')
  await page.getByRole('searchbox').press('Enter')
  await page.getByRole('link', { name: /retry budget/ }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: /on Mondays/ }).waitFor()
  await page.getByRole('searchbox').fill('')
  await page.getByRole('searchbox').press('Enter')
  await page.getByRole('link', { name: /retry budget/ }).click()
  await page.getByText('No. Keep it small.').waitFor()
  await page.getByText('results of read_file').waitFor()
  await house.say('Is it done?') // it is followed live
  await page.getByText('Is it done?').waitFor()
  const download = page.waitForEvent('download')
  await page.getByLabel('Export').selectOption('markdown')
  assert.match((await download).suggestedFilename(), /\.md$/)
  await page.getByRole('button', { name: 'Rewind to here, after event 3' }).click()
  await page.getByRole('button', { name: 'Rewind', exact: true }).click()
  await page.getByText('No. Keep it small.').waitFor({ state: 'detached' })
  const before = page.url()
  await page.getByRole('button', { name: 'Fork' }).click()
  await page.getByText('forked from').waitFor()
  assert.notEqual(page.url(), before)
}

/** What the proxy has recorded: what was sent, what was left out and why. */
export async function timeline({ house, enter }) {
  await house.seed()
  const page = await enter()
  await go(page, 'Sessions')
  await page.getByRole('link', { name: 'Through the proxy' }).click()
  await page.getByRole('link', { name: /example-agent-20/ }).click()
  await page.getByText('4 texts left out').first().click()
  await page.getByText('its lines stand above, unchanged').filter({ visible: true }).first().waitFor()
}

/** Savings over time, and by agent, model and policy. */
export async function savings({ house, enter, assert }) {
  await house.seed()
  const page = await enter()
  await go(page, 'Savings')
  await page.locator('canvas').nth(2).waitFor()
  assert.equal(await page.getByRole('img').count(), 3)
  await page.getByRole('rowheader', { name: 'example-agent' }).waitFor()
  await page.getByRole('button', { name: 'model' }).click()
  await page.getByRole('rowheader', { name: 'example-large' }).waitFor()
  await page.getByRole('button', { name: 'policy' }).click()
  await page.getByRole('rowheader', { name: 'lossless' }).waitFor()
  await page.getByRole('button', { name: '7 days' }).click()
  await page.locator('canvas').nth(2).waitFor()
}

/** A write is found and undone, after its difference was seen. (FILE-12) */
export async function undo({ house, enter, assert }) {
  const page = await enter()
  const result = house.call('write_file', { path: 'a.txt', content: 'a\n' })
  await page.locator('.answers button.primary:not([disabled])').click()
  await result
  await go(page, 'Files')
  await page.getByRole('rowheader', { name: 'a.txt' }).first().waitFor()
  await page.getByRole('button', { name: /^Undo write/ }).click()
  await page.getByRole('link', { name: '1 open question' }).click()
  await page.locator('.row.removed', { hasText: 'a' }).waitFor()
  await page.locator('.answers button.primary:not([disabled])').click()
  await page.locator('.done li', { hasText: 'approved by anna' }).first().waitFor()
  await go(page, 'Files')
  await page.getByRole('button', { name: /^Undo write/ }).waitFor({ state: 'detached' })
  assert.equal(await house.read('a.txt'), null)
}

/** The trail is shown, verified against a link that was kept, and a suspended session goes on. (FILE-11) */
export async function audit({ house, enter, assert }) {
  const page = await enter()
  const result = house.call('write_file', { path: 'a.txt', content: 'a\n' })
  await page.locator('.answers button.primary:not([disabled])').click()
  await result
  for (let i = 0; i < 12; i++) await house.call('read_file', { path: '../../etc/shadow' }, 'bad')
  await go(page, 'Audit')
  await page.getByText('The chain holds:').waitFor()
  await page.getByRole('searchbox').fill('anna')
  await page.getByRole('cell', { name: 'approved by person anna' }).first().waitFor()
  await page.getByLabel('NUMBER:HASH').fill('1:' + '0'.repeat(64))
  await page.getByRole('button', { name: 'Verify' }).click()
  await page.getByText('The chain is broken at entry 1').waitFor()
  await page.getByRole('button', { name: 'Let it go on' }).click()
  await page.getByText('is suspended since').waitFor({ state: 'detached' })
  assert.ok((await house.trail()).some((e) => e.Kind === 'resume' && e.By === 'person anna'))
}

/** Dark by the system, by choice, and legible in both. */
export async function dark({ house, enter, assert }) {
  const page = await enter('anna', { colorScheme: 'dark' })
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
  assert.equal(await ground(), 'rgb(20, 22, 26)')
  await go(page, 'Settings')
  await page.getByRole('radio', { name: 'light' }).check()
  assert.equal(await ground(), 'rgb(246, 247, 249)')
  await page.reload()
  await main(page).waitFor()
  assert.equal(await ground(), 'rgb(246, 247, 249)')
}

/** Every view, light and dark, has what assistive technology needs: names, roles, contrast. */
export async function accessible({ house, enter, assert, axe }) {
  await house.seed()
  await house.write('a.txt', 'a\nb\n')
  await house.call('read_file', { path: 'a.txt' })
  for (const colorScheme of ['light', 'dark']) {
    const page = await enter('anna', { colorScheme })
    const check = async (what) => assert.deepEqual(await axe(page), [], `${what}, ${colorScheme}`)
    await check('nothing open')
    const call = house.call('write_file', { path: 'a.txt', content: `${colorScheme}\nb\n\u202e` })
    await page.locator('.answers button.primary:not([disabled])').waitFor()
    await check('a question')
    await page.keyboard.press('r')
    await page.getByRole('dialog').waitFor()
    await check('a dialog')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('e')
    await page.locator('.cm-content').waitFor()
    await check('the editor')
    await page.getByRole('button', { name: 'Stop editing' }).click()
    await page.getByRole('button', { name: /^Edit/ }).waitFor()
    await page.keyboard.press('c')
    await call
    await go(page, 'Sessions')
    await page.getByRole('link', { name: /retry budget/ }).click()
    await page.getByText('No. Keep it small.').waitFor()
    await check('a session')
    await page.goto(`${house.base}/#/sessions/~example-agent-20`)
    await page.getByText('4 texts left out').first().click()
    await check('a timeline')
    for (const name of ['Savings', 'Files', 'Audit', 'Settings']) {
      await go(page, name)
      if (name === 'Savings') await page.locator('canvas').nth(2).waitFor()
      if (name === 'Files' || name === 'Audit') await page.getByRole('rowheader').first().waitFor()
      await check(name)
    }
  }
}

/** Draws the views, for the documentation. */
export async function pictures({ house, enter }) {
  await house.seed()
  const source = (change) => Array.from({ length: 44 }, (_, i) => change(i + 1)).join('')
  const before = source((i) => (i % 6 === 1 ? `// step${i} does its part.\n` : i % 6 === 2 ? `func step${i}(ctx context.Context) error {\n` : i % 6 === 5 ? '}\n' : i % 6 === 0 ? '\n' : '\treturn upload(ctx, retry)\n'))
  const after = before.replace('step8(ctx context.Context)', 'step8(ctx context.Context, budget int)').replaceAll('retry)', 'budget(retry))').replace('// step37 does its part.\n', '// step37 does its part, five times a minute at most.\n// It then gives up.\n')
  await house.write('internal/upload/retry.go', before)
  const first = await enter()
  for (const path of ['internal/upload/budget.go', 'internal/upload/budget_test.go', 'docs/limits.md']) {
    const call = house.call('write_file', { path, content: before, create_dirs: true })
    await first.locator('.question h1', { hasText: path }).waitFor()
    await first.locator('.answers button.primary:not([disabled])').click()
    await call
  }
  const refused = house.call('write_file', { path: 'Makefile', content: 'all:\n' })
  await first.locator('.question h1', { hasText: 'Makefile' }).waitFor()
  await first.locator('.answers button.primary:not([disabled])').waitFor()
  await first.keyboard.press('c')
  await refused
  await house.call('read_file', { path: '../secrets' })
  await house.call('read_file', { path: 'internal/upload/retry.go' })
  house.call('write_file', { path: 'internal/upload/retry.go', content: after }).catch(() => {})
  for (const colorScheme of ['light', 'dark']) {
    const page = await enter('anna', { colorScheme, deviceScaleFactor: 2 })
    house.call('write_file', { path: `docs/uploads-${colorScheme}.md`, content: '# Uploads\n\nAn upload retries five times.\n', create_dirs: true }, 'session-2').catch(() => {})
    await page.locator('.answers button.primary:not([disabled])').waitFor()
    const draw = (name) => page.screenshot({ path: `${house.pictures}/${name}-${colorScheme}.png` })
    await draw('approvals')
    await go(page, 'Sessions')
    await page.getByRole('link', { name: /retry budget/ }).click()
    await page.getByText('No. Keep it small.').waitFor()
    await draw('session')
    await page.goto(`${house.base}/#/sessions/~example-agent-20`)
    await page.getByText('4 texts left out').first().click()
    await draw('timeline')
    await go(page, 'Savings')
    await page.locator('canvas').nth(2).waitFor()
    await draw('savings')
    await go(page, 'Files')
    await page.getByRole('rowheader').first().waitFor()
    await draw('files')
    await go(page, 'Audit')
    await page.getByRole('rowheader').first().waitFor()
    await draw('audit')
    await go(page, 'Settings')
    await draw('settings')
    const phone = await enter('anna', { colorScheme, viewport: { width: 375, height: 720 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 })
    await phone.screenshot({ path: `${house.pictures}/phone-list-${colorScheme}.png` })
    await phone.getByRole('link', { name: /retry.go/ }).tap()
    await phone.locator('.answers button.primary:not([disabled])').waitFor()
    await phone.screenshot({ path: `${house.pictures}/phone-${colorScheme}.png` })
  }
}

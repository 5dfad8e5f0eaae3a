// The other views.

const main = (page) => page.getByRole('main')

async function go(page, name) {
  await page.getByRole('navigation').getByRole('link', { name }).click()
  await main(page).getByRole('heading', { name, level: 1 }).waitFor()
}

/** Without a token, and after a logout, the page shows nothing. */
export async function login({ rig, enter, assert }) {
  const page = await enter(null)
  await page.goto(rig.base)
  await page.getByLabel('Token').fill('wrong')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('alert').getByText('not valid').waitFor()
  await page.getByLabel('Token').fill(`${rig.base}/#token=token-of-lab`) // the field accepts the whole link
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('lab').waitFor()
  await page.reload()
  await page.getByText('lab').waitFor()
  assert.equal(await page.evaluate(() => document.cookie), '')
  await go(page, 'Settings')
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Token').waitFor()
  await page.reload()
  await page.getByLabel('Token').waitFor()
}

/** A person finds, reads, rewinds, forks and exports sessions. */
export async function sessions({ rig, enter, assert }) {
  await rig.seed()
  const page = await enter()
  await go(page, 'Sessions')
  await page.getByRole('searchbox').fill('small') // the search follows what is typed, and a hit has its session's title
  await page.getByRole('link', { name: /login test/ }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: /Give uploads a retry budget.*Keep it small/s }).waitFor()
  await page.getByRole('searchbox').fill('mondays')
  await page.getByRole('searchbox').press('Enter')
  await page.getByRole('link', { name: /retry budget/ }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: /on Mondays/ }).waitFor()
  await page.getByRole('searchbox').fill('')
  await page.getByRole('link', { name: /retry budget/ }).click()
  await page.getByText('No. Keep it small.').waitFor()
  await page.getByText('results of read_file').waitFor()
  await rig.say('Is it done?') // the page shows new messages at once
  await page.getByText('Is it done?').waitFor()
  const download = page.waitForEvent('download')
  await page.getByLabel('Export').selectOption('markdown')
  assert.match((await download).suggestedFilename(), /\.md$/)
  await page.getByRole('button', { name: 'Rewind to here, after event 3' }).click()
  await page.getByRole('button', { name: 'Rewind', exact: true }).click()
  await page.getByText('No. Keep it small.').waitFor({ state: 'detached' })
  await page.getByText('Rewound to event 3').waitFor()
  await page.getByRole('button', { name: 'Take the rewind back' }).click()
  await page.getByText('No. Keep it small.').waitFor()
  const before = page.url()
  await page.getByRole('button', { name: 'Fork' }).click()
  await page.getByText('forked from').waitFor()
  assert.notEqual(page.url(), before)
}

/** A session of another process appears in the list, and the page shows its new messages. */
export async function elsewhere({ rig, enter, assert }) {
  const page = await enter()
  await go(page, 'Sessions')
  await page.getByText('No session is stored.').waitFor()
  await rig.elsewhere('Count the lines.')
  await page.getByRole('link', { name: /Count the lines/ }).click()
  await page.locator('.messages').getByText('Count the lines.').waitFor()
  await rig.elsewhere('And the words.')
  await page.locator('.messages').getByText('And the words.').waitFor()
  await rig.elsewhere('And the bytes.')
  await page.locator('.messages').getByText('And the bytes.').waitFor()
  assert.equal(await page.locator('.messages > li').count(), 3)
  await page.getByRole('link', { name: /3 messages/ }).waitFor() // the list is updated
}

/** What the proxy has recorded: what was sent, what was left out and why. */
export async function timeline({ rig, enter, assert }) {
  await rig.seed()
  const page = await enter()
  await go(page, 'Sessions')
  await page.getByRole('link', { name: 'Through the proxy' }).click()
  await page.getByRole('listitem').filter({ hasText: 'example-agent' }).getByRole('link').first().click()
  await page.getByText('example-agent-20').filter({ visible: true }).first().waitFor()
  await page.getByText('4 texts left out').first().click()
  await page.getByText('its lines stand above, unchanged').filter({ visible: true }).first().waitFor()
  const window = page.getByRole('figure', { name: /The window/ })
  assert.match(await window.innerText(), /tokens of 200K \(4\d %\)/)
  await window.getByText('read from cache').waitFor()
  await page.getByText('full', { exact: true }).first().waitFor()
  await page.getByText(/The prompt cache .* next request costs about \$1\.90 instead of \$0\.21/).waitFor()
}

/** Savings over time, and by agent, model and policy. */
export async function savings({ rig, enter, assert }) {
  await rig.seed()
  const page = await enter()
  await go(page, 'Savings')
  await page.locator('canvas').nth(2).waitFor()
  assert.equal(await page.getByRole('img').count(), 3)
  await page.getByRole('rowheader', { name: 'example-agent' }).last().waitFor()
  await page.getByText('anthropic, 5h: 42 % used by the whole account').waitFor()
  await page.getByText(/anthropic, 5h:\s+7 % used by the whole account, until /).waitFor() // another account
  await page.getByText(/primary 7d:\s+102 % used by the whole account, but it began anew at /).waitFor()
  await page.getByText('$5.00 for a day: $4.20 spent').waitFor()
  await page.getByRole('button', { name: 'Stop, 1: example-agent in /home/me/garden', exact: true }).click()
  await page.getByRole('button', { name: 'Let it go on, 1: example-agent in /home/me/garden', exact: true }).click()
  await page.getByRole('button', { name: 'Stop, 1: example-agent in /home/me/garden', exact: true }).waitFor()
  await page.getByRole('button', { name: 'model' }).click()
  await page.getByRole('rowheader', { name: 'example-large' }).waitFor()
  await page.getByRole('button', { name: 'project' }).click()
  await page.getByRole('rowheader', { name: '/home/me/garden' }).waitFor()
  await page.getByRole('button', { name: 'policy' }).click()
  await page.getByRole('rowheader', { name: 'lossless' }).waitFor()
  await page.getByRole('button', { name: 'time', exact: true }).click()
  assert.ok((await page.getByRole('rowheader', { name: /^\d{4}-\d\d-\d\d$/ }).count()) >= 20)
  await page.getByRole('button', { name: '7 days' }).click()
  await page.locator('canvas').nth(2).waitFor()
}

/** A write is found and undone, after its difference was seen. (FILE-12) */
export async function undo({ rig, enter, assert }) {
  const page = await enter()
  const result = rig.call('write_file', { path: 'a.txt', content: 'a\n' })
  await page.locator('.answers button.primary:not([disabled])').click()
  await result
  await go(page, 'Files')
  await page.getByRole('rowheader', { name: 'a.txt' }).first().waitFor()
  await page.getByRole('cell', { name: 'as it was seen' }).waitFor()
  await page.getByRole('button', { name: /^Undo write/ }).click()
  await page.locator('.row.removed', { hasText: 'a' }).waitFor() // its question is shown at once
  assert.equal(await rig.read('a.txt'), 'a\n')
  await page.locator('.answers button.primary:not([disabled])').click()
  await page.getByRole('status').getByText('Undone.').waitFor()
  await page.getByRole('button', { name: /^Undo write/ }).first().waitFor({ state: 'detached' }) // while the undo is written there are two
  assert.equal(await rig.read('a.txt'), null)
}

/** Before an undo begins, the page says what prevents it: a file that was changed, or a trail that was changed. (FILE-12, CTX-8) */
export async function undoStopped({ rig, enter, assert }) {
  const page = await enter()
  for (const path of ['a.txt', 'b.txt']) {
    const result = rig.call('write_file', { path, content: 'by the agent\n' })
    await page.locator('.question h1', { hasText: path }).waitFor()
    await page.locator('.answers button.primary:not([disabled])').click()
    await result
  }
  await rig.write('a.txt', 'by somebody else\n')
  await go(page, 'Files')
  await page.getByRole('row', { name: /a\.txt.*changed since/ }).waitFor()
  await page.getByRole('row', { name: /b\.txt.*as it was seen/ }).waitFor()
  await page.getByRole('button', { name: 'changed since' }).click()
  await page.getByRole('heading', { name: '1 file', exact: true }).waitFor()
  await page.getByRole('button', { name: 'All of the session' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('somebody else has changed it since').waitFor()
  await dialog.getByText('On disk it is as the agent left it.').waitFor() // the other file
  assert.ok(await dialog.getByRole('button', { name: 'Undo' }).isDisabled())
  await dialog.getByRole('button', { name: 'Back' }).click()
  await rig.bend()
  await page.getByRole('row', { name: /b\.txt/ }).getByRole('button', { name: /^Undo write/ }).click()
  await dialog.getByText('The audit trail is broken at entry 1').waitFor()
  assert.ok(await dialog.getByRole('button', { name: 'Undo' }).isEnabled())
  assert.equal(await rig.read('a.txt'), 'by somebody else\n')
}

/** The trail is shown, and verified against a saved link. A person resumes a suspended session. (FILE-11) */
export async function audit({ rig, enter, assert }) {
  const page = await enter()
  const result = rig.call('write_file', { path: 'a.txt', content: 'a\n' })
  await page.locator('.answers button.primary:not([disabled])').click()
  await result
  for (let i = 0; i < 12; i++) await rig.call('read_file', { path: '../../etc/shadow' }, 'bad')
  await go(page, 'Audit')
  await page.getByText('The chain holds:').waitFor()
  const wide = page.viewportSize()
  await page.setViewportSize({ width: 390, height: 780 })
  assert.match(await page.locator('main tbody td').first().innerText(), /^\d+\s+\d\d:/) // an entry's number, and its time
  await page.setViewportSize(wide)
  await page.getByRole('searchbox').fill('desk')
  await page.getByRole('cell', { name: 'approved by person desk' }).first().waitFor()
  await page.getByLabel('NUMBER:HASH').fill('1:' + '0'.repeat(64))
  await page.getByRole('button', { name: 'Verify' }).click()
  await page.getByText('The chain is broken at entry 1').waitFor()
  await page.getByRole('button', { name: 'Let it go on' }).click()
  await page.getByText('is suspended since').waitFor({ state: 'detached' })
  assert.ok((await rig.trail()).some((e) => e.kind === 'resume' && e.by === 'person desk'))
}

/** Hostile characters in names and texts are shown with escapes, in every view. */
export async function hostile({ rig, enter, assert }) {
  const evil = '<img src=x onerror="window.owned=1"> \u202e turned \u2066 \u0007 {{7*7}}'
  await rig.elsewhere(evil)
  const page = await enter()
  const result = rig.call('write_file', { path: 'docs/<b>bold</b>\u202etxt.exe', content: 'x\n', create_dirs: true }, 'session <i>1</i>\u202e')
  await page.locator('.answers button.primary:not([disabled])').click()
  await result
  await rig.call('read_file', { path: '../<i>up</i>\u202e' }, 'session <i>1</i>\u202e')
  const check = async (view, shown) => {
    await page.getByText(shown).first().waitFor()
    const all = await page.evaluate(() => document.documentElement.innerHTML + document.title)
    for (const raw of ['\u202e', '\u2066', '\u0007']) assert.ok(!all.includes(raw), `${JSON.stringify(raw)} is in the page of ${view}`)
    assert.equal(await page.locator('main img, main b b, main i').count(), 0, view)
    assert.equal(await page.evaluate(() => window.owned), undefined, view)
  }
  await check('Approvals', 'docs/<b>bold</b>')
  await go(page, 'Files')
  await check('Files', 'docs/<b>bold</b>')
  await rig.write('docs/<b>bold</b>\u202etxt.exe', 'somebody else\n')
  await page.getByRole('button', { name: /^All of the session/ }).click()
  await page.getByText('On disk it has changed.').waitFor()
  await check('an undo', 'docs/<b>bold</b>')
  await page.getByRole('button', { name: 'Back' }).click()
  await go(page, 'Audit')
  await check('Audit', '../<i>up</i>')
  await go(page, 'Sessions')
  await check('Sessions', '<img src=x')
  await page.getByRole('link', { name: /<img src=x/ }).click()
  await page.locator('.messages').getByText('turned').waitFor()
  await check('a session', '{{7*7}}')
}

/** The page is dark if the system is, or if the person chooses so, and readable in both themes. */
export async function dark({ rig, enter, assert }) {
  const page = await enter('desk', { colorScheme: 'dark' })
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
  assert.equal(await ground(), 'rgb(20, 22, 26)')
  await go(page, 'Settings')
  await page.getByRole('radio', { name: 'light' }).check()
  assert.equal(await ground(), 'rgb(246, 247, 249)')
  await page.reload()
  await main(page).waitFor()
  assert.equal(await ground(), 'rgb(246, 247, 249)')
}

/** Where the page has no https, there is no button for messages, but how to get one. (GRD-1) */
export async function push({ enter, assert }) {
  const page = await enter('desk')
  await go(page, 'Settings')
  await page.getByText('open it by https').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Notify this browser' }).count(), 0)
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Token').waitFor()
}

/** A view without data shows a command that makes some. */
export async function empty({ rig, enter, assert }) {
  for (const size of [{}, { viewport: { width: 390, height: 780 } }]) {
    const page = await enter('desk', { ...size, permissions: ['clipboard-read', 'clipboard-write'] })
    const has = async (command) => {
      await page.getByRole('button', { name: `Copy: ${command}` }).click()
      await page.getByRole('button', { name: `Copied: ${command}` }).waitFor()
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), command)
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${command} is wider than the screen`)
    }
    await has('stet token create my-agent --scope agent')
    for (const [name, command] of [['Sessions', 'stet chat'], ['Savings', 'stet wrap -- claude'], ['Files', 'stet setup claude --write'], ['Audit', 'stet setup claude --write']]) {
      await go(page, name)
      await has(command)
      if (rig.pictures && rig.every) await page.screenshot({ path: `${rig.pictures}/empty-${name.toLowerCase()}-${page.viewportSize().width}.png` })
    }
    await page.goto(`${rig.base}/#/sessions/~`)
    await has('stet wrap -- claude')
  }
}

/** Calls of agents' own tools stand next to those of stet's: what each changed, who decided, and how it is taken back. (GRD-1) */
export async function native({ rig, enter }) {
  const call = { session: 'native-1', client: 'claude', tool: 'Bash' }
  await rig.entry({ ...call, kind: 'changed', path: 'garden/beds.py', bytes: 1, after: 'list', decision: 'approved', by: 'person owner', outcome: 'ok' })
  await rig.entry({ ...call, kind: 'changed', bytes: 3, after: 'list', decision: 'allowed', by: 'the agent', outcome: 'ok' })
  await rig.entry({ ...call, kind: 'call', decision: 'rejected', by: 'person owner', outcome: 'user_rejected' })
  const page = await enter('owner')
  await page.goto(`${rig.base}/#/files`)
  await page.getByText('beds.py').first().waitFor()
  await page.goto(`${rig.base}/#/audit/native-1`)
  for (const text of ['changed 1 path', 'changed 3 paths', 'approved by person owner', 'rejected by person owner', 'stet undo native-1']) {
    await page.getByText(text).first().waitFor()
  }
  await page.getByRole('button', { name: 'Take back' }).first().waitFor()
}

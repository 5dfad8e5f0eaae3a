import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { failure, newSite } from './rig.ts'

const above = await mkdtemp(join(tmpdir(), 'stet-example-'))
const folder = join(above, 'project')
after(() => rm(above, { recursive: true }))

test('the example keeps what it promises', async t => {
  await mkdir(join(folder, '.git'), { recursive: true })
  await mkdir(join(folder, 'src'))
  await writeFile(join(above, 'secret'), 'secret')
  await writeFile(join(folder, 'a.txt'), 'one\ntwo\n')
  await writeFile(join(folder, 'bytes'), Buffer.from([0xff, 0xfe, 0xfd]))
  await symlink('../secret', join(folder, 'link'))
  await symlink('..', join(folder, 'up'))
  await symlink('a.txt', join(folder, 'alias'))

  const site = await newSite()
  const example = fileURLToPath(new URL('../examples/host.js', import.meta.url))
  const child = spawn(process.execPath, [...process.execArgv.filter(a => a.includes('websocket')), example, site.url.host, folder], {
    env: { ...process.env, STET_TOKEN: site.token.host },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = new Promise<number | null>(resolve => child.once('exit', resolve))
  t.after(() => child.kill())

  const agent = await site.agent()
  await agent.hostReady(basename(folder))
  const read = await agent.call('read_file', { path: 'a.txt' })
  assert.deepEqual([read.content, read.lines_read], ['one\ntwo\n', 2])
  assert.equal((await agent.call('read_file', { path: 'alias' })).content, 'one\ntwo\n')

  const code = async (tool: string, path: string) => (await failure(agent.call(tool, { path, content: 'x' }))).code
  for (const path of ['', '/etc/passwd', '../secret', 'src/../../secret', '\\secret', 'C:secret', 'a\0b', 'x'.repeat(4097), 'link', 'up/secret', '.', 'up']) {
    assert.equal(await code('read_file', path), 'invalid_path', path.slice(0, 40))
    assert.equal(await code('write_file', path), 'invalid_path', path.slice(0, 40))
  }
  assert.equal(await code('read_file', 'none'), 'file_not_found')
  assert.equal(await code('read_file', 'src'), 'is_directory')
  assert.equal(await code('write_file', 'bytes'), 'encoding_error')
  assert.equal(await code('write_file', 'none/a'), 'file_not_found')
  assert.equal(await code('write_file', '.git/config'), 'permission_denied')

  const write = agent.call('write_file', { path: 'a.txt', content: 'one\n2\n' })
  const q = await site.question()
  assert.equal(q.diff, '--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n-two\n+one\n+2\n')
  await site.answer(q, 'approve')
  assert.equal((await write).bytes_written, 6)
  assert.equal(await readFile(join(folder, 'a.txt'), 'utf8'), 'one\n2\n')

  const late = failure(agent.call('write_file', { path: 'a.txt', content: 'three\n' }))
  const other = await site.question()
  await writeFile(join(folder, 'a.txt'), 'mine\n')
  await site.answer(other, 'approve')
  assert.equal((await late).code, 'concurrent_modification')
  assert.equal(await readFile(join(folder, 'a.txt'), 'utf8'), 'mine\n')

  const made = agent.call('write_file', { path: 'src/b', content: 'new\n' })
  await site.answer(await site.question(), 'approve')
  await made
  assert.deepEqual(await readdir(join(folder, 'src')), ['b'])

  child.kill('SIGINT')
  assert.equal(await ended, 0)
  assert.equal(await readFile(join(above, 'secret'), 'utf8'), 'secret')
})

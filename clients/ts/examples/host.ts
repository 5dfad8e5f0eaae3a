// A host in some 50 lines: it serves read_file and write_file for a folder.
//
//   STET_TOKEN=… node dist/examples/host.js http://127.0.0.1:4141 FOLDER
//
// An editor would look into its buffers first, and write through them. What a host
// must not leave out is here: no path leads out of the folder, a person decides on
// what is written, and what changed meanwhile is not overwritten.
import { readFile, realpath, rename, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { connectHost, ToolError } from '../src/index.ts'

const [url = '', folder = '.'] = process.argv.slice(2)
const root = await realpath(folder)

/** The real place of a file: relative, without "..", and through no link that leaves the folder. */
async function place(path: string): Promise<string> {
  if (path === '' || path.length > 4096 || /^[/\\]|^[A-Za-z]:|\0/.test(path) || path.split(/[/\\]/).includes('..')) {
    throw new ToolError('invalid_path', `${path.slice(0, 200)}: name a file by its path from the folder, without ".."`)
  }
  const missing = () => Promise.reject(new ToolError('file_not_found', `${path} is not there`))
  const parent = await realpath(dirname(join(root, path))).catch(missing)
  const file = await realpath(join(parent, basename(path))).catch(() => join(parent, basename(path)))
  const inside = relative(root, file)
  if (inside === '' || inside.split(sep)[0] === '..') throw new ToolError('invalid_path', `${path} leads out of the folder`)
  return file
}

/** The text of a file, undefined where there is none. */
async function text(file: string): Promise<string | undefined> {
  const info = await stat(file).catch(() => undefined)
  if (!info) return undefined
  if (!info.isFile()) throw new ToolError('is_directory', `${relative(root, file)} is no file`)
  if (info.size > 10 << 20) throw new ToolError('file_too_large', `${info.size} bytes: at most 10 MB`)
  const bytes = await readFile(file)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new ToolError('encoding_error', `${relative(root, file)} is not UTF-8`)
  }
}

const lines = (mark: string, s = '') => s && s.replace(/\n$/, '').replace(/^/gm, mark) + '\n'
const count = (s = '') => s && lines('', s).split('\n').length - 1

const host = await connectHost({
  url,
  token: process.env.STET_TOKEN ?? '',
  workspace: basename(root),
  onConnection: (up, why) => console.error(up ? 'connected' : `not connected: ${why?.message}`),
  tools: {
    read_file: async call => {
      const content = await text(await place(call.arguments.path))
      if (content === undefined) throw new ToolError('file_not_found', `${call.arguments.path} is not there`)
      return { success: true, content, lines_read: count(content) }
    },
    write_file: async (call, signal) => {
      const { path, content } = call.arguments
      const file = await place(path)
      if (relative(root, file).split(sep).includes('.git')) throw new ToolError('permission_denied', `${path} is not for agents to write`)
      const before = await text(file)
      const diff = `--- a/${path}\n+++ b/${path}\n@@ -1,${count(before)} +1,${count(content)} @@\n${lines('-', before)}${lines('+', content)}`
      const decided = await call.ask({ path, size: Buffer.byteLength(content), diff, content })
      signal.throwIfAborted()
      if ((await text(await place(path))) !== before) throw new ToolError('concurrent_modification', `${path} was changed meanwhile`)
      const temporary = join(dirname(file), `.${basename(file)}.${process.pid}`)
      await writeFile(temporary, decided.content ?? content, { flag: 'wx' })
      await rename(temporary, file) // all of it or nothing
      return { success: true, bytes_written: Buffer.byteLength(decided.content ?? content) }
    },
  },
})
process.once('SIGINT', () => void host.close())
console.error((await host.closed).message)

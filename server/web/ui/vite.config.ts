import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

const here = import.meta.dirname
const out = process.env.STET_UI_OUT ?? join(here, '../dist')

/** sum is a hash over files, by their names and what they hold. */
function sum(dir: string, names: string[]): string {
  const files = names.flatMap((name) => {
    const found = readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((f) => f.isFile())
      .map((f) => join(f.parentPath, f.name).slice(dir.length + 1).replaceAll('\\', '/'))
    return found.filter((f) => !f.startsWith('node_modules/') && (f === name || f.startsWith(name + '/') || name === '.'))
  })
  const hash = createHash('sha256')
  for (const f of files.sort()) hash.update(`${f} ${createHash('sha256').update(readFileSync(join(dir, f))).digest('hex')}\n`)
  return hash.digest('hex')
}

/** note writes down what was built of what: a Go test holds it against what is there. */
const note = {
  name: 'note',
  apply: 'build' as const,
  closeBundle() {
    if (process.env.STET_UI_OUT) return
    const sources = sum(here, ['index.html', 'package-lock.json', 'public', 'src', 'vite.config.ts'])
    writeFileSync(join(here, 'built.sum'), `sources ${sources}\ndist ${sum(out, ['.'])}\n`)
  },
}

export default defineConfig({
  plugins: [svelte(), note],
  build: {
    outDir: out,
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.md' },
    chunkSizeWarningLimit: 1000,
  },
})

// Encodes the strings on standard input, a JSON string per line, with npm
// tiktoken, and writes the ranks of each one's tokens on a line.
//
//   node encode.mjs PACKAGE_DIRECTORY VOCABULARY
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const { get_encoding } = createRequire(process.argv[2] + '/').call(null, 'tiktoken')
const encoding = get_encoding(process.argv[3])
let out = []
for await (const line of createInterface({ input: process.stdin })) {
  out.push(encoding.encode(JSON.parse(line), [], []).join(' '))
  if (out.length === 1000) {
    process.stdout.write(out.join('\n') + '\n')
    out = []
  }
}
process.stdout.write(out.map((l) => l + '\n').join(''))

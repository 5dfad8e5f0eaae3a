// Writes a vocabulary (see ../vocabulary.go for its form) to standard output,
// from the data of the npm package tiktoken (MIT).
//
//   npm install --no-save --no-package-lock && node gen.mjs o200k_base > ../o200k_base.bpe
import { createRequire } from 'node:module'

const name = process.argv[2]
const { bpe_ranks: ranks } = createRequire(import.meta.url)(`tiktoken/encoders/${name}.json`)

// A line holds tokens of consecutive ranks: "! first token token …". Tokens are
// kept as strings of a character per byte.
const tokens = []
for (const line of ranks.split('\n')) {
  const [, first, ...rest] = line.split(' ')
  rest.forEach((t, i) => { tokens[Number(first) + i] = Buffer.from(t, 'base64').toString('latin1') })
}
const rank = new Map(tokens.map((t, i) => [t, i]))
if (rank.size !== tokens.length || tokens.includes(undefined)) throw new Error('a rank is missing or used twice')

// halves returns the two tokens whose merge made the token of rank r: what is
// left of it after all merges of lower rank.
function halves(r) {
  let parts = [...tokens[r]]
  for (;;) {
    let best = r
    let at = -1
    for (let i = 0; i + 1 < parts.length; i++) {
      const merged = rank.get(parts[i] + parts[i + 1])
      if (merged < best) [best, at] = [merged, i]
    }
    if (at < 0) break
    parts.splice(at, 2, parts[at] + parts[at + 1])
  }
  if (parts.length !== 2) throw new Error(`token ${r} is no merge of two`)
  return parts.map((p) => rank.get(p))
}

const out = Buffer.alloc(256 + 6 * (tokens.length - 256))
for (let r = 0; r < tokens.length; r++) {
  if (r < 256) {
    if (tokens[r].length !== 1) throw new Error(`token ${r} is no byte`)
    out[r] = tokens[r].charCodeAt(0)
    continue
  }
  const [left, right] = halves(r)
  out.writeUIntLE(left, 256 + 6 * (r - 256), 3)
  out.writeUIntLE(right, 259 + 6 * (r - 256), 3)
}
process.stdout.write(out)

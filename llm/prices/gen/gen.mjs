// Writes models.json (see ../catalog.go for its form) to standard output, from
// the price data of the npm package @pydantic/genai-prices (MIT), with what
// that data lacks: vocabulary names, how many tokens a model takes where its
// vocabulary is not public, the shortest prompt a provider caches, and whether
// it checks what stands before thinking.
//
//   npm install --no-save --no-package-lock && node gen.mjs 2026-11-20 > ../models.json
//
// The date decides which of several dated prices holds.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { findProvider } from '@pydantic/genai-prices'

const asOf = process.argv[2]
if (!/^\d{4}-\d{2}-\d{2}$/.test(asOf ?? '')) {
  console.error('usage: node gen.mjs YYYY-MM-DD')
  process.exit(2)
}
const main = createRequire(import.meta.url).resolve('@pydantic/genai-prices')
const version = JSON.parse(readFileSync(join(dirname(main), '..', 'package.json'), 'utf8')).version

// Which providers, in the order in which a name is looked up, and which of
// their models: those one can chat with, under the provider that makes them.
const providers = [
  ['anthropic', /./],
  ['openai', /^(gpt|chatgpt|o\d|codex)/],
  ['google', /^gemini/],
  ['deepseek', /./],
  ['moonshotai', /./],
  ['x-ai', /./],
  ['mistral', /^(codestral|devstral|mistral|magistral|ministral)/],
  ['zhipuai', /./],
  ['minimax', /./],
  ['openrouter', /^(qwen\/qwen3|meta-llama\/llama-[34])/],
]
const unwanted = /audio|image|tts|transcribe|realtime|embed|whisper|moderation|instruct$|voice|live|:free|ocr|vision|-vl-|search|deep-research|:extended|computer-use|gpt-3\.5-0301/

// The vocabularies the maker has published; the others are counted by estimate.
function vocabulary(provider, id) {
  if (provider !== 'openai') return undefined
  if (/^(gpt-3\.5|gpt-4($|-32k|-turbo|-0))/.test(id)) return 'cl100k_base'
  if (/^(gpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|gpt-oss|chatgpt-4o|o\d|codex)/.test(id)) return 'o200k_base'
  return undefined
}

// How many tokens a model takes for one of o200k_base, where its vocabulary is
// not public: the growth of prompts by long tool results, as providers reported
// it, in recorded sessions of coding agents (2026-11; medians of sessions, which
// are within 5 % of them). Models that were not in them are taken to be like the
// others of their generation; of what is not here nothing is known.
const scales = [
  [/^claude-(opus-4-[78]|(fable|opus|sonnet|haiku)-5)/, 1.73],
  [/^claude-/, 1.1],
  [/^gemini-3/, 1.17],
]

// Windows that the data lacks (the makers' pages on their models, 2026-11).
const windows = [
  [/^gemini-(2\.5|3|flash-1\.5)/, 1048576],
  [/^minimax-m1$/, 1000000],
  [/^qwen\/qwen3-coder(-next)?$/, 262144],
]

// Prices of long prompts that the data lacks (the maker's page on prices, 2025-08: the window of a million tokens).
const longs = [
  [/^claude-sonnet-4-0$/, { above: 200000, in: 6, out: 22.5, read: 0.6, write: 7.5, write_1h: 12 }],
]

// The shortest cacheable prompt where it is not the provider's usual one
// (the provider's page on prompt caching, 2026-11).
const minCache = [
  [/^claude-(fable-5|opus-5)/, 512],
  [/^claude-opus-4-7$/, 2048],
  [/^claude-(opus-4-[56]|haiku-4-5)$/, 4096],
  [/^claude-(3-5-haiku|3-haiku)/, 2048],
  [/^gemini-2\.5/, 2048],
]

// Whether the provider refuses a request in which something before a block of
// thinking is not what it was when the block was made (the provider's pages on
// preserved thinking, 2026-11). A model that is not here is not known.
const thinking = [
  [/^claude-(fable-5-[12]|mythos-5.*|(opus|sonnet|haiku)-5-5)$/, 'checked'],
  [/^claude-(v?[12]$|3-|(opus|sonnet|haiku)-4-[0-8]$|(fable|opus|sonnet)-5$)/, 'unchecked'],
]

// How many times its price a request costs on other terms (the providers' pages on prices and on fast mode, 2026-11):
// Anthropic's fast mode and its requests that must be answered in the United States; the priority tier.
const fast = [
  [/^claude-opus-4-[67]$/, 6],
  [/^claude-opus-(4-8|5|5-5)$/, 2],
]
const us = [[/^claude-((opus|sonnet)-4-[6-9]|(fable|mythos|opus|sonnet|haiku)-5)/, 1.1], [/^claude-/, 1]]
const priority = [
  [/^gpt-5\.5$/, 2.5],
  [/^(gpt-(5|5\.[1-4]|5\.3-codex|5\.4-mini|5\.6-.*|6-.*)|gpt-4\.1-nano)$/, 2],
  [/^gpt-5-mini$/, 1.8],
  [/^o4-mini$/, 20 / 11],
  [/^(o3|gpt-4\.1|gpt-4\.1-mini|gpt-4o-2024-05-13)$/, 1.75],
  [/^gpt-4o$/, 1.7],
  [/^gpt-4o-mini$/, 5 / 3],
  [/^gemini-(2\.5|3)/, 1.8],
]

function current(prices) {
  if (!Array.isArray(prices)) return prices
  let best = null
  let since = ''
  for (const p of prices) {
    if (p.constraint && p.constraint.type !== 'start_date') continue
    const from = p.constraint?.start_date ?? '0000'
    if (from <= asOf && from >= since) {
      best = p.prices
      since = from
    }
  }
  return best
}

const keys = { input_mtok: 'in', output_mtok: 'out', cache_read_mtok: 'read', cache_write_mtok: 'write', cache_write_1h_mtok: 'write_1h', web_searches_kcount: 'search' }

function usd(prices) {
  const base = {}
  const long = {}
  for (const [key, name] of Object.entries(keys)) {
    const p = prices[key]
    if (p === undefined || p === null) continue
    if (typeof p === 'number') {
      base[name] = p
      continue
    }
    base[name] = p.base
    const tier = p.tiers[p.tiers.length - 1]
    if (tier) {
      long.above = tier.start
      long[name] = tier.price
    }
  }
  return [base, long.above ? long : undefined]
}

function match(m, out = {}) {
  const add = (k, v) => (out[k] ??= []).push(v.toLowerCase())
  if (m.or) for (const x of m.or) match(x, out)
  else if (m.equals) add('is', m.equals)
  else if (m.starts_with) add('starts', m.starts_with)
  else if (m.contains) add('has', m.contains)
  // regular expressions only add dates to a name, which Lookup drops itself;
  // conjunctions are for names we leave out
  return out
}

const lines = []
for (const [provider, wanted] of providers) {
  const p = findProvider({ providerId: provider })
  for (const m of p.models) {
    const prices = m.prices && current(m.prices)
    if (!wanted.test(m.id) && !wanted.test(m.id.toLowerCase())) continue
    if (unwanted.test(m.id) || !prices || prices.input_mtok === undefined) continue
    const [base, long] = usd(prices)
    if (!base.in) continue
    const id = m.id.toLowerCase()
    const maker = provider === 'openrouter' ? id.split('/')[0] : provider
    lines.push(JSON.stringify({
      id,
      provider: maker,
      window: m.context_window ?? windows.find(([re]) => re.test(id))?.[1],
      vocabulary: vocabulary(provider, id),
      scale: vocabulary(provider, id) ? undefined : scales.find(([re]) => re.test(id))?.[1],
      min_cache: minCache.find(([re]) => re.test(id))?.[1],
      thinking: thinking.find(([re]) => re.test(id))?.[1],
      usd: base,
      fast: fast.find(([re]) => re.test(id))?.[1],
      us: us.find(([re]) => re.test(id))?.[1],
      priority: priority.find(([re]) => re.test(id))?.[1],
      long: long ?? longs.find(([re]) => re.test(id))?.[1],
      match: match(m.match),
    }))
  }
}
console.log('{')
console.log(` "source": "npm @pydantic/genai-prices ${version} (MIT), prices in USD per million tokens",`)
console.log(` "date": "${asOf}",`)
console.log(' "models": [')
console.log(lines.map((l) => '  ' + l).join(',\n'))
console.log(' ]')
console.log('}')

const integer = new Intl.NumberFormat('en')
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

export function number(n: number): string {
  return integer.format(n)
}

export function short(n: number): string {
  return n < 10_000 ? integer.format(n) : compact.format(n)
}

export function bytes(n: number): string {
  if (n >= 10 << 20) return `${Math.floor(n / (1 << 20))} MB`
  if (n >= 10 << 10) return `${Math.floor(n / 1024)} KB`
  return n === 1 ? '1 byte' : `${integer.format(n)} bytes`
}

// cost is the cost of requests, of which some have a price that is not known.
export function cost(n: number, requests: number, unpriced: number): string {
  if (unpriced === 0 || requests === 0) return usd(n)
  return unpriced === requests ? '?' : `${usd(n)} + ?`
}

export function usd(n: number): string {
  if (n === 0) return '$0'
  return n < 0.01 ? '< $0.01' : '$' + n.toFixed(n < 100 ? 2 : 0)
}

/** usdMark is dollars at an axis whose marks are a step apart, with the digits that tell them apart. */
export function usdMark(n: number, step: number): string {
  const digits = [0, 2, 3, 4, 5].find((d) => Math.abs(step - Number(step.toFixed(d))) < step / 100) ?? 6
  return n === 0 ? '$0' : '$' + n.toFixed(digits)
}

export function plural(n: number, noun: string): string {
  return n === 1 ? `1 ${noun}` : `${integer.format(n)} ${noun}s`
}

/** change says how b differs from a, in per cent. No line breaks within it. */
export function change(a: number, b: number): string {
  if (a === 0 || a === b) return '0\u00a0%'
  const p = (100 * (b - a)) / a
  return `${p > 0 ? '+' : '−'}${Math.abs(p).toFixed(1)}\u00a0%`
}

/** ago says how long ago a time was. */
export function ago(time: string, now: number): string {
  const s = Math.max(0, Math.round((now - Date.parse(time)) / 1000))
  if (s < 60) return `${s} s ago`
  if (s < 3600) return `${Math.floor(s / 60)} min ago`
  if (s < 86400) return `${Math.floor(s / 3600)} h ago`
  return new Date(time).toLocaleDateString('en-CA')
}

/** left says how long it is to a time. */
export function left(time: string, now: number): string {
  const s = Math.max(0, Math.round((Date.parse(time) - now) / 1000))
  return s < 60 ? `${s} s` : `${Math.floor(s / 60)}:${String(s % 60).padStart(2, '0')} min`
}

/** clock is a time of day, with the date unless it is today's. */
export function clock(time: string): string {
  const t = new Date(time)
  const hour = t.toLocaleTimeString('en-GB')
  return t.toDateString() === new Date().toDateString() ? hour : `${t.toLocaleDateString('en-CA')} ${hour}`
}

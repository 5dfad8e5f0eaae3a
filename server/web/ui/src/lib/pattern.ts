/** escaped is a name as a pattern that matches it alone. */
function escaped(name: string): string {
  return name.replace(/[\\*?[\]{},]/g, (c) => '\\' + c)
}

/** suggested is the pattern that a person is offered for a path: its directory, or its kind. */
export function suggested(path: string): string {
  const slash = path.lastIndexOf('/')
  if (slash > 0) return escaped(path.slice(0, slash)) + '/**'
  const dot = path.lastIndexOf('.')
  return dot > 0 ? '*' + escaped(path.slice(dot)) : escaped(path)
}

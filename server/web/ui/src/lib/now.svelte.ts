/** now is the time, a second at a time. */
export const now = $state({ ms: Date.now() })

setInterval(() => (now.ms = Date.now()), 1000)

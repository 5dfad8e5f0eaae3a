/**
 * turns tells answers that are late from those that count: of several askings
 * under way, the one that began last.
 */
export function turns(): () => () => boolean {
  let newest = 0
  return () => {
    const mine = ++newest
    return () => mine === newest
  }
}

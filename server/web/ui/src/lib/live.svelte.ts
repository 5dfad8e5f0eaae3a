import { page } from './page.svelte'
import { queue } from './queue.svelte'

/**
 * live calls load now, whenever what `of` returns is another value, and when
 * something was stored: for that at most once in so many milliseconds, and only
 * while the page is in view. It is to be called while a component is made.
 */
export function live(load: () => void, of: () => unknown = () => 0, pause = 2000) {
  let last = 0
  let was: unknown
  $effect(() => {
    const is = of()
    void queue.stored
    if (page.hidden) return
    const timer = setTimeout(
      () => {
        last = Date.now()
        was = is
        load()
      },
      is === was ? Math.max(0, last + pause - Date.now()) : 0,
    )
    return () => clearTimeout(timer)
  })
}

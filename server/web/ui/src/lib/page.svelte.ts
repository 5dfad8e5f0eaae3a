/** page says whether the person could see it. */
export const page = $state({ hidden: document.hidden })

addEventListener('visibilitychange', () => (page.hidden = document.hidden))

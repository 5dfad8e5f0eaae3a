/** What a person has chosen for this browser. */
interface Prefs {
  theme: 'system' | 'light' | 'dark'
  split: boolean
  notify: boolean // by the page, while it is hidden
  push: boolean // by the server, while the page is closed
}

const name = 'stet-prefs'

function stored(): Partial<Prefs> {
  try {
    return JSON.parse(localStorage.getItem(name) ?? '{}')
  } catch {
    return {}
  }
}

export const prefs = $state<Prefs>({ theme: 'system', split: true, notify: false, push: false, ...stored() })

/** keep writes down what was chosen, and shows it. It is to be called in an effect. */
export function keep() {
  localStorage.setItem(name, JSON.stringify(prefs))
  if (prefs.theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = prefs.theme
}

/** Where in the page the person is: "#/view/id". */
export const route = $state({ view: 'queue', id: '' })

function read() {
  const [view, ...rest] = location.hash.replace(/^#\/?/, '').split('/')
  route.view = view || 'queue'
  route.id = decodeURIComponent(rest.join('/'))
}

export function href(view: string, id = ''): string {
  return `#/${view}` + (id ? '/' + encodeURIComponent(id) : '')
}

export function go(view: string, id = '') {
  location.hash = href(view, id)
}

/** tokenInLink takes the token out of the address, so that nobody sees it there. */
export function tokenInLink(): string {
  const found = /^#token=([^&]+)/.exec(location.hash)
  if (!found) return ''
  history.replaceState(null, '', '/#/queue')
  read()
  return decodeURIComponent(found[1]!)
}

addEventListener('hashchange', read)
read()

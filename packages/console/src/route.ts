/** The current view and its query, taken from the fragment of the address. So views can be linked, and Back works. */
import { computed, signal } from '@preact/signals'

const hash = signal(location.hash)
addEventListener('hashchange', () => {
  hash.value = location.hash
})

export const views = ['now', 'cache', 'nodes', 'requests'] as const
export type View = (typeof views)[number]
export const titles: Readonly<Record<View, string>> = {
  now: 'Now',
  cache: 'Cache',
  nodes: 'Nodes',
  requests: 'Requests',
}

export const route = computed(() => {
  const [path = '', query = ''] = hash.value.replace(/^#\/?/, '').split('?')
  const [first = 'now', second] = path.split('/')
  const view = views.find((each) => each === first) ?? 'now'
  return { view, part: second, query: new URLSearchParams(query) }
})

export function navigate(path: string, query: Record<string, string> = {}): void {
  location.hash = withQuery(`/${path}`, query)
}

/** Replaces the query of the current view without a new entry in the browser history. */
export function replaceQuery(query: Record<string, string>): void {
  const { view, part } = route.value
  history.replaceState(null, '', withQuery(`#/${view}${part === undefined ? '' : `/${part}`}`, query))
  hash.value = location.hash
}

/** Returns the query string without empty values. */
export function queryText(query: Readonly<Record<string, string>>): string {
  return new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString()
}

function withQuery(path: string, query: Readonly<Record<string, string>>): string {
  const text = queryText(query)
  return text === '' ? path : `${path}?${text}`
}

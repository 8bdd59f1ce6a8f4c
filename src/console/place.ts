/** Where one is: the part of the address behind `#`, so that a view can be linked to and the way back works. */
import { computed, signal } from '@preact/signals'

const hash = signal(location.hash)
addEventListener('hashchange', () => {
  hash.value = location.hash
})

export const views = ['now', 'cache', 'nodes', 'requests'] as const
export type View = (typeof views)[number]

export const place = computed(() => {
  const [path = '', query = ''] = hash.value.replace(/^#\/?/, '').split('?')
  const [first = 'now', second] = path.split('/')
  const view = views.find((each) => each === first) ?? 'now'
  return { view, part: second, query: new URLSearchParams(query) }
})

export function go(path: string, query: Record<string, string> = {}): void {
  location.hash = withQuery(`/${path}`, query)
}

/** The same view with another query, without a step in the way back. */
export function refine(query: Record<string, string>): void {
  const { view, part } = place.value
  history.replaceState(null, '', withQuery(`#/${view}${part === undefined ? '' : `/${part}`}`, query))
  hash.value = location.hash
}

/** What is empty is left out. */
export function queryText(query: Readonly<Record<string, string>>): string {
  return new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString()
}

function withQuery(path: string, query: Readonly<Record<string, string>>): string {
  const text = queryText(query)
  return text === '' ? path : `${path}?${text}`
}

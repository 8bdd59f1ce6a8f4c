/** Texts of a request, for the list and for its details. */
import type { TailRequest } from '../../server/request-types.ts'

/** Returns the route template, or the path of a request without a route. */
export function pathOf({ route: template, path }: Pick<TailRequest, 'route' | 'path'>): string {
  return path ?? template
}

export function statusText(status: number): string {
  return status === 0 ? 'aborted' : String(status)
}

export function statusClass(status: number): string {
  return status >= 500 ? 'bad' : status >= 400 ? 'warn' : ''
}

/** Finds the endpoint of a request. Paths are matched without case; trailing and doubled slashes are ignored. */
import type { Endpoint } from '../../../src/contracts/endpoint.ts'
import { FrameworkError } from './model.ts'

export interface Match {
  readonly endpoint: Endpoint
  /** Decoded values of the path. */
  readonly params: Readonly<Record<string, string>>
}

export type FindRoute = (method: string, path: string) => Match | undefined

interface Route {
  readonly endpoint: Endpoint
  readonly segments: readonly string[]
}

/** Finds the endpoint for a raw path; throws error 3 (HTTP 500) if the path cannot be decoded. */
export function routeTable(endpoints: readonly Endpoint[]): FindRoute {
  const routes = new Map<string, Route[]>()
  for (const endpoint of endpoints) {
    const segments = split(endpoint.path)
    const key = `${endpoint.method} ${segments.length}`
    routes.set(key, [...(routes.get(key) ?? []), { endpoint, segments }])
  }
  for (const list of routes.values()) list.sort(byPrecedence)
  return (method, path) => {
    if (/^\/{2,}$/.test(path)) return undefined
    const segments = split(path)
    for (const { endpoint, segments: template } of routes.get(`${method} ${segments.length}`) ?? []) {
      if (template.every((part, at) => part.startsWith(':') || part.toLowerCase() === segments[at]?.toLowerCase())) {
        return { endpoint, params: readParams(template, segments) }
      }
    }
    return undefined
  }
}

function split(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '')
}

/**
 * A literal segment precedes a parameter; the first differing segment decides. For PUT the last one decides:
 * `PUT /agents/groups/restart` restarts the agent `groups`, as in the real router.
 */
function byPrecedence(a: Route, b: Route): number {
  const places = a.segments.map((_, at) => at)
  if (a.endpoint.method === 'PUT') places.reverse()
  for (const at of places) {
    const order = Number(a.segments[at]?.startsWith(':')) - Number(b.segments[at]?.startsWith(':'))
    if (order !== 0) return order
  }
  return 0
}

function readParams(template: readonly string[], segments: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {}
  for (const [at, part] of template.entries()) {
    if (part.startsWith(':')) params[part.slice(1)] = decode(segments[at] ?? '')
  }
  return params
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new FrameworkError(3, 'Internal error', 500)
  }
}

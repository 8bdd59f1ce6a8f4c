/**
 * Finds the call of a request. Paths are matched with case; one slash at the end is ignored. The later framework finds
 * nothing for an encoded slash, and redirects requests with slashes at the end.
 */
import { Moved, Refusal } from './errors.ts'
import type { Operation } from './model.ts'
import type { Texts } from './parameters.ts'

export interface Match {
  readonly call: Operation
  readonly params: Texts
}

export type FindCall = (method: string, path: string) => Match

interface Route {
  readonly call: Operation
  readonly segments: readonly string[]
}

/** Throws 404 for an unknown path and 405 for a method that the path does not have, both before any other check. */
export function createRouter(calls: readonly Operation[], isLater: boolean): FindCall {
  const routes = new Map<number, Route[]>()
  for (const call of calls) {
    const segments = call.path.split('/')
    routes.set(segments.length, [...(routes.get(segments.length) ?? []), { call, segments }])
  }
  for (const group of routes.values()) group.sort(byPrecedence)
  const routesOf = (segments: readonly string[]) =>
    (routes.get(segments.length) ?? []).filter(({ segments: template }) => matches(template, segments))
  return (method, path) => {
    if (isLater && /%2f/i.test(path)) throw notFound()
    const stripped = path.replace(/\/+$/, '')
    if (isLater && stripped !== path && path !== '/' && routesOf(stripped.split('/')).length > 0)
      throw new Moved(stripped)
    const segments = (!isLater && path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path).split('/')
    const found = routesOf(segments)
    const route = found.find(({ call }) => call.method === method)
    if (route !== undefined) return { call: route.call, params: readParams(route.segments, segments) }
    if (found.length > 0) throw new Refusal(405, 'Method Not Allowed', '405: Method Not Allowed')
    throw notFound()
  }
}

function notFound(): Refusal {
  return new Refusal(404, 'Not Found', '404: Not Found')
}

/** A literal segment precedes a parameter. */
function byPrecedence(a: Route, b: Route): number {
  for (const [at, segment] of a.segments.entries()) {
    const order = Number(segment.startsWith('{')) - Number(b.segments[at]?.startsWith('{'))
    if (order !== 0) return order
  }
  return 0
}

function matches(template: readonly string[], segments: readonly string[]): boolean {
  return template.every((part, at) => (part.startsWith('{') ? segments[at] !== '' : part === segments[at]))
}

function readParams(template: readonly string[], segments: readonly string[]): Texts {
  const params: Record<string, string> = {}
  for (const [at, part] of template.entries()) {
    if (part.startsWith('{')) params[part.slice(1, -1)] = decoded(segments[at] ?? '')
  }
  return params
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

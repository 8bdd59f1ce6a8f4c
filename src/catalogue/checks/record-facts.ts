import type { Endpoint, Param, ReadEndpoint, WriteEndpoint } from '../endpoint.ts'
/** What all checks of the catalogue share: their one type, and what they ask of a record. */

/** The faults of one record; the whole catalogue beside it, since some records are right only together. */
export type Check = (record: Endpoint, all: readonly Endpoint[]) => readonly string[]

export function idOf({ method, path }: Endpoint): string {
  return `${method} ${path}`
}

/** Method and path as the router tells them apart. */
export function shapeOf({ method, path, params }: Endpoint): string {
  const described: Readonly<Record<string, Param>> = params
  const place = (name: string) => `:${described[name.slice(1)]?.routePattern ?? ''}`
  return `${method} ${path.replaceAll(/:[^/]+|[^:]+/g, (part) => (part.startsWith(':') ? place(part) : part.toLowerCase()))}`
}

export function isWrite(record: Endpoint): record is WriteEndpoint {
  return record.method !== 'GET'
}

export function isRead(record: Endpoint): record is ReadEndpoint {
  return record.method === 'GET'
}

/** The record by which each part of a joined answer is read; absent: it is joined of answers of its own. */
export function partOf({ target }: Endpoint, all: readonly Endpoint[]): ReadEndpoint | undefined {
  const path = target.kind === 'severalNodes' ? target.ofNode : target.kind === 'everyNode' ? target.ofAgent : undefined
  return all.filter(isRead).find((other) => other.path === path)
}

export function pathNames({ path }: Endpoint): readonly string[] {
  return [...path.matchAll(/:([^/]+)/g)].map((match) => match[1] ?? '')
}

export function fieldsOf(record: Endpoint): readonly string[] {
  return isWrite(record) && record.body?.kind === 'fields' ? Object.keys(record.body.fields) : []
}

export function paramsOf(record: Endpoint): readonly (readonly [string, Param])[] {
  return [...Object.entries(record.params), ...Object.entries(record.query)]
}

/** A list of possible faults with the condition of each; what holds is reported. */
export function faults(...found: readonly (readonly [boolean, string])[]): readonly string[] {
  return found.filter(([holds]) => holds).map(([, fault]) => fault)
}

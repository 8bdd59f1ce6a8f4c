/** The type of a check, and facts of a record that several checks need. */
import type { Endpoint, Param, ReadEndpoint, WriteEndpoint } from '../../../../src/contracts/endpoint.ts'
/** Returns the faults of one record. `all` is the whole catalogue, because some records are correct only together. */
export type Check = (record: Endpoint, all: readonly Endpoint[]) => readonly string[]

/** Returns the method and path of a record, such as `GET /agents`. */
export function idOf({ method, path }: Endpoint): string {
  return `${method} ${path}`
}

/** Returns method and path in the form in which the router distinguishes routes. */
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

/** Returns the record that reads each part of a joined response. Absent: the parts are read by the record itself. */
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

/** Returns the messages whose condition is true. */
export function faults(...found: readonly (readonly [boolean, string])[]): readonly string[] {
  return found.filter(([holds]) => holds).map(([, fault]) => fault)
}

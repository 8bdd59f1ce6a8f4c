import type { Body, Contract, Endpoint, Field } from '../contracts/endpoint.ts'

/**
 * A path of a contract. The names of endpoints, and of the URLs of their responses, where both contracts are meant, are the
 * path, with `v4:` in front of a path of the v4 contract. Paths begin with a slash, so no name is ambiguous.
 */
export interface NamedPath {
  readonly contract: Contract
  readonly path: string
}

const PREFIX = /^(v3|v4):/

export function nameOf({ contract, path }: NamedPath | Endpoint): string {
  return contract === 'v4' ? `v4:${path}` : path
}

/** Returns the body that a request to the endpoint has, as its record describes it. */
export function describedBody(endpoint: Endpoint): Body | undefined {
  return 'body' in endpoint ? endpoint.body : undefined
}

/** Returns the fields of that body; of a file, and without a body, none. */
export function describedFields(endpoint: Endpoint): Readonly<Record<string, Field>> {
  const body = describedBody(endpoint)
  return body?.kind === 'fields' ? body.fields : {}
}

const routes = new WeakMap<Endpoint, string>()

/** Returns the name of an endpoint as a text that is made once: events, metrics, log lines and audit records have it. */
export function routeOf(endpoint: Endpoint): string {
  if (endpoint.contract === 'v3') return endpoint.path
  const known = routes.get(endpoint)
  if (known !== undefined) return known
  const route = nameOf(endpoint)
  routes.set(endpoint, route)
  return route
}

/** Parses a name. `contract`: that of a path without a prefix. */
export function parseName(name: string, contract: Contract = 'v3'): NamedPath {
  const [prefix, named] = PREFIX.exec(name) ?? []
  if (prefix === undefined) return { contract, path: name }
  return { contract: named as Contract, path: name.slice(prefix.length) }
}

/** Returns a name as clients of a contract get it: those of the v4 one always get the prefix of a path. */
export function nameFor(contract: Contract, name: string): string {
  return contract === 'v4' && !PREFIX.test(name) ? `v3:${name}` : name
}

/**
 * The names of endpoints, and of the URLs of their responses, where both contracts are meant: the path, with `newer:` in
 * front of a path of the newer contract. Paths begin with a slash, so no name is ambiguous.
 */
import type { Contract, Endpoint } from '../catalogue/endpoint.ts'

export interface NamedPath {
  readonly contract: Contract
  readonly path: string
}

const PREFIX = /^(classic|newer):/

/** Returns the name of a path. */
export function nameOf({ contract, path }: NamedPath | Endpoint): string {
  return contract === 'newer' ? `newer:${path}` : path
}

const routes = new WeakMap<Endpoint, string>()

/** Returns the name of an endpoint as a text that is made once: events, metrics, log lines and audit records have it. */
export function routeOf(endpoint: Endpoint): string {
  if (endpoint.contract === 'classic') return endpoint.path
  const known = routes.get(endpoint)
  if (known !== undefined) return known
  const route = nameOf(endpoint)
  routes.set(endpoint, route)
  return route
}

/** Parses a name. `contract`: that of a path without a prefix. */
export function parseName(name: string, contract: Contract = 'classic'): NamedPath {
  const [prefix, named] = PREFIX.exec(name) ?? []
  if (prefix === undefined) return { contract, path: name }
  return { contract: named as Contract, path: name.slice(prefix.length) }
}

/** Returns a name as clients of a contract get it: those of the newer one always get the prefix of a path. */
export function nameFor(contract: Contract, name: string): string {
  return contract === 'newer' && !PREFIX.test(name) ? `classic:${name}` : name
}

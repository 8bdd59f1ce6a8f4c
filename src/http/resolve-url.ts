/** Reads without a request: of a URL, or of a record with values, by the routes and checks of a contract. */

import { randomUUID } from 'node:crypto'
import type { ReadEndpoint } from '../contracts/endpoint.ts'
import { EdgeError } from '../core/errors.ts'
import type { NamedRead } from '../core/node-call.ts'
import type { Caller, EdgeRead } from '../core/request.ts'
import { authorise } from './admit.ts'
import { type HttpContract, type ParsedQuery, undecodablePath } from './contract.ts'
import { toEdgeRead } from './edge-request.ts'
import { NO_FLAGS, type Values } from './parameters.ts'

/**
 * Returns the EdgeRead that a GET of this URL by this caller leads to, or throws the EdgeError that it is rejected
 * with: the same route patterns and checks, without a request.
 */
export type ResolveUrl = (url: string, caller: Caller) => EdgeRead

/** What the listener accepts as a request target: a path and a query of printable ASCII, without a fragment. */
const PATH_AND_QUERY = /^\/[\x21\x22\x24-\x7e]*$/

/** A URL that is no path at all throws 604: it is the value of a parameter where this function is used. */
export function createUrlResolver(contract: HttpContract): ResolveUrl {
  return (url, caller) => {
    if (!PATH_AND_QUERY.test(url)) throw new EdgeError(604, '. The url must be a path')
    const found = contract.findRoute('GET', url)
    if (found?.store === null) throw undecodablePath()
    const { query, flags } = contract.parseQuery(url, found?.store)
    const endpoint = contract.served(found?.store as ReadEndpoint | undefined, 'GET', url)
    return checkedRead(contract, caller, endpoint, { params: { ...found?.params } as Values, query, flags })
  }
}

/** Returns the read of this record and these values by a caller; `undefined`: there is none, or a value is refused. */
export type FindRead = (read: NamedRead, caller: Caller) => EdgeRead | undefined

/** The router matches the template instead of a URL: a part `:name` is the place of a value, and other parts are values. */
export function createReadFinder(contract: HttpContract): FindRead {
  return (read, caller) => {
    const found = contract.findRoute('GET', read.path)
    // What an empty value means depends on the release.
    if (!found?.store || Object.values(read.query).includes('')) return undefined
    const given = (text = '') => (text.startsWith(':') ? (read.params[text.slice(1)] ?? '') : text)
    const params = Object.fromEntries(Object.entries(found.params).map(([name, text]) => [name, given(text)]))
    try {
      const endpoint = contract.served(found.store as ReadEndpoint, 'GET', read.path)
      return checkedRead(contract, caller, endpoint, { params, query: { ...read.query }, flags: NO_FLAGS })
    } catch (error) {
      // The edge validates more strictly than nodes do.
      if (error instanceof EdgeError) return undefined
      throw error
    }
  }
}

/** Throws for a read that the caller may not make, or whose values are refused. */
function checkedRead(
  contract: HttpContract,
  caller: Caller,
  endpoint: ReadEndpoint,
  { params, query, flags }: { readonly params: Values } & ParsedQuery,
): EdgeRead {
  authorise(caller, { endpoint, query })
  contract.check(endpoint, { params, query })
  const parts = { caller, headers: {}, id: randomUUID(), clientAddress: '' }
  return toEdgeRead(endpoint, contract.validatedUrl(endpoint, params, query, flags), parts)
}

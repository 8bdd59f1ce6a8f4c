/**
 * The query of a URL in the newer contract: empty values do not count, and the last one of a name does; lists are joined. Without
 * a list, many writes mean all agents, so an empty list of a write may be kept, which is refused later.
 */
import type { Endpoint, Param } from '../../catalogue/endpoint.ts'
import { bool } from '../../catalogue/newer-contract/value.ts'
import type { ParsedQuery } from '../contract.ts'
import { decodeText, type Values } from '../parameters.ts'
import { badRequest } from './problem.ts'

/** Every operation takes them, unless its record excludes them. */
export const FLAGS: Readonly<Record<string, Param>> = {
  pretty: { kind: 'described', role: 'indented', value: bool(false) },
  wait_for_complete: { kind: 'described', role: 'no time limit', value: bool(false) },
}

interface QueryRules {
  readonly maxParameters: number
  /** An empty list of a write stays in the query, where it is refused as an invalid value. */
  readonly keepsEmptyLists: boolean
}

/** The flags stay in the query, where their values are checked later. */
export function parseNewerQuery(
  url: string,
  endpoint: Endpoint | undefined,
  { maxParameters, keepsEmptyLists }: QueryRules,
): ParsedQuery {
  const query: Values = Object.create(null)
  const mark = url.indexOf('?')
  const pairs = mark < 0 ? [] : url.slice(mark + 1).split('&', maxParameters + 1)
  if (pairs.length > maxParameters) throw badRequest(`At most ${maxParameters} query parameters are read`)
  for (const pair of pairs) {
    const equals = pair.indexOf('=')
    const value = equals < 0 ? '' : decodeText(pair.slice(equals + 1))
    const name = decodeText(equals < 0 ? pair : pair.slice(0, equals))
    const before = query[name]
    if (value === '') {
      if (keepsEmptyLists && before === undefined && isList(endpoint, name) && endpoint?.method !== 'GET')
        query[name] = ''
    } else query[name] = before && isList(endpoint, name) ? `${before},${value}` : value
  }
  return { query, flags: { pretty: isTrue(query.pretty), waitForComplete: isTrue(query.wait_for_complete) } }
}

function isList(endpoint: Endpoint | undefined, name: string): boolean {
  return endpoint?.query[name]?.value?.type === 'array'
}

function isTrue(text: string | undefined): boolean {
  return text?.toLowerCase() === 'true'
}

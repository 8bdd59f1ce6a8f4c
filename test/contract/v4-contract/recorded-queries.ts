/**
 * Recorded collections of the v4 contract with recorded queries of them: what the edge computes for a query from all
 * rows must be what the manager has answered.
 */

import { compilePolicy } from '../../../src/cache/policy.ts'
import { derivationOf, rowSourceOf } from '../../../src/cache/snapshots/derivation.ts'
import { readCollection } from '../../../src/cache/snapshots/read-collection.ts'
import { isDetermined } from '../../../src/collections/determined.ts'
import { answerInFrame, type QueriedRows, readParts } from '../../../src/collections/queried-rows.ts'
import { CollectionError } from '../../../src/collections/request.ts'
import type { Endpoint } from '../../../src/contracts/endpoint.ts'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import type { EdgeRead } from '../../../src/core/request.ts'
import type { EnvelopeResponse } from '../../../src/core/response.ts'
import { OF_NODE } from '../../../src/layouts/dialect.ts'
import { V3_READS } from '../../support/edge-requests.ts'
import { type ContractExchange, isRefusal } from './exchanges.ts'

/** A request and its response; the members that the recordings of both kinds share. */
export interface Recorded {
  readonly node: string
  readonly user: string | null
  readonly request: { readonly method: string; readonly path: string }
  readonly response: ContractExchange['response']
}

export interface RecordedCollection {
  readonly path: string
  readonly endpoint: Endpoint
  /** The response with all rows. */
  readonly body: string
  readonly queries: readonly Recorded[]
}

/** Flags with which the response has the same rows. */
const FLAGS: readonly string[] = ['pretty', 'wait_for_complete']

/**
 * Returns the collections of which a response has all rows, with the queries of the same user, as far as no write
 * separates them from that response.
 */
export function collectionsOf(exchanges: readonly Recorded[], reader: string): RecordedCollection[] {
  const reads = exchanges.filter(
    ({ request, user, node }) => request.method === 'GET' && user === reader && node === 'master',
  )
  const paths = [...new Set(reads.map(({ request }) => request.path.split('?')[0] ?? ''))]
  return paths.flatMap((path) => {
    const ofPath = reads.filter(({ request }) => request.path.split('?')[0] === path)
    const endpoint = endpointOf(path)
    const whole = endpoint && ofPath.find(isWhole)
    if (endpoint === undefined || whole === undefined) return []
    return [
      {
        path,
        endpoint,
        body: whole.response.body,
        queries: ofPath.filter((one) => isQuery(one) && !isSeparated(exchanges, whole, one)),
      },
    ]
  })
}

function isSeparated(exchanges: readonly Recorded[], whole: Recorded, other: Recorded): boolean {
  const [from = 0, to = 0] = [exchanges.indexOf(whole), exchanges.indexOf(other)].sort((a, b) => a - b)
  return exchanges.slice(from, to).some(isWrite)
}

/** Logins and refusals change no data that collections have. */
function isWrite({ request: { method, path }, response: { status } }: Recorded): boolean {
  return method !== 'GET' && status === 200 && !path.startsWith('/security/')
}

function endpointOf(path: string): Endpoint | undefined {
  return v4Contract.find((record) => {
    const policy = compilePolicy(record)
    if (typeof policy === 'string' || policy.snapshot === undefined) return false
    return new RegExp(`^${record.path.replaceAll(/:\w+/g, '[^/]+')}$`).test(path)
  })
}

function isWhole({ request, response }: Recorded): boolean {
  if (request.path.includes('?') || response.status !== 200 || response.body.endsWith('…cut')) return false
  const { data, error } = JSON.parse(response.body)
  const items = data?.affected_items
  return error === 0 && items?.length > 0 && items.length === data.total_affected_items
}

/** What the manager refuses before it reads rows, the edge refuses too, without a snapshot. */
function isQuery(exchange: Recorded): boolean {
  const names = Object.keys(queryOf(exchange.request.path))
  return names.some((name) => !FLAGS.includes(name)) && !isRefusal(exchange)
}

/** As the edge reads it: empty values do not count, and lists are joined. */
export function queryOf(path: string): Readonly<Record<string, string>> {
  const query: Record<string, string> = {}
  for (const [name, value] of new URLSearchParams(path.split('?')[1] ?? '')) {
    if (value !== '') query[name] = query[name] === undefined ? value : `${query[name]},${value}`
  }
  return query
}

/** Returns a function that computes the response of a query; `undefined`: a node must answer. */
export async function computerOf({ endpoint, body }: RecordedCollection) {
  const base = {
    kind: 'read',
    endpoint,
    params: {},
    query: {},
    extent: 'whole',
    waitForComplete: false,
  } as unknown as EdgeRead
  const response = { kind: 'envelope', status: 200, body: Buffer.from(body), errorNumber: 0, origin: OF_NODE } as const
  const limits = { maxRows: 100_000, maxBytes: 2 ** 26, rowsPerCall: 5000 }
  const { parts, frame } = await readCollection(
    async () => response as EnvelopeResponse,
    base,
    limits,
    () => {},
  )
  const source = rowSourceOf(base, V3_READS)
  if (source === undefined || frame === undefined) throw new Error(`${endpoint.path} has no snapshot`)
  const rows: QueriedRows = await readParts(parts, source)
  return async (query: Readonly<Record<string, string>>): Promise<string | undefined> => {
    const derivation = derivationOf({ ...base, query }, new Date(), V3_READS)
    if (derivation === undefined) return undefined
    try {
      if (!(await isDetermined(rows.table, derivation.collection, derivation.source))) return undefined
      return (await answerInFrame(rows, derivation, frame))?.toString()
    } catch (fault) {
      if (fault instanceof CollectionError) return undefined
      throw fault
    }
  }
}

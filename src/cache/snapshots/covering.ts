/**
 * Which stored response of a collection has all of its rows, so that others can be computed from it while no node answers.
 * All replicas find its query in the shared store; a lookup decides whether the response may be served.
 */
import { growingLru } from '../../core/recently-used.ts'
import type { EdgeRead } from '../../core/request.ts'
import { type EnvelopeResponse, NO_PARTS, type SnapshotResponse, type StoredOrigin } from '../../core/response.ts'
import { isObject, parseJson } from '../../core/values.ts'
import type { CacheTarget } from '../key.ts'
import type { SharedParts } from '../stores/contract.ts'
import { storageLifetime } from '../stores/local-entries.ts'
import type { SnapshotPorts } from './build.ts'
import type { Derivation } from './derivation.ts'
import { readCollection, SnapshotRefusedError } from './read-collection.ts'
import { type SnapshotHead, snapshotOf } from './rows.ts'

type Query = Readonly<Record<string, string>>

/** The order of its rows: that of the collection, or that of a sort. */
export const ORDERS = ['own', 'sorted'] as const
type Order = (typeof ORDERS)[number]

interface Noted {
  readonly query: Query
  /** When it is written again, by the clock in milliseconds. */
  readonly renewAt: number
}

const MAX_COLLECTIONS = 5000
/** Parts have an id, and each of these is complete. */
const ID = 'query'

export class CoveringQueries {
  readonly #shared: SharedParts | undefined
  readonly #clock: () => number
  readonly #noted = growingLru<string, Noted>(MAX_COLLECTIONS)

  constructor(shared: SharedParts | undefined, clock: () => number) {
    this.#shared = shared
    this.#clock = clock
  }

  /** `key`: of the collection. `ms`: how long the response may be served. */
  note(key: string, query: Query, ms: number): void {
    const name = nameOf(key, query.sort === undefined ? 'own' : 'sorted')
    const known = this.#noted.get(name)
    const text = JSON.stringify(query)
    const now = this.#clock()
    if (known !== undefined && now < known.renewAt && JSON.stringify(known.query) === text) return
    this.#noted.set(name, { query, renewAt: now + ms / 2 })
    void this.#shared?.set(name, ID, Buffer.from(text), ms).catch(() => false)
  }

  /** `isLocal`: Redis is not asked. */
  async find(key: string, order: Order, isLocal = false): Promise<Query | undefined> {
    const name = nameOf(key, order)
    const known = this.#noted.get(name)?.query
    if (known !== undefined || isLocal) return known
    const bytes = await this.#shared?.get(name, ID)
    const query = bytes && parseJson(bytes)
    return isObject(query) ? (query as Query) : undefined
  }
}

function nameOf(key: string, order: Order): string {
  return `${key}:${order}`
}

/** A stored response as it is served. */
export type CoveringResponse = EnvelopeResponse<StoredOrigin>

/** A joined response that has no further members: it lacks no rows. */
const WHOLE_JOINED = /"totalItems":\d+\}\}$/

interface Covered {
  readonly request: EdgeRead
  readonly target: CacheTarget
  readonly derivation: Derivation
}

/** Returns the rows of the response as those of a snapshot; `undefined`: it does not have all rows, or they are too many. */
export async function snapshotOfCovering(
  { rows, snapshots }: Pick<SnapshotPorts, 'rows' | 'snapshots'>,
  { request, target, derivation: { source } }: Covered,
  stored: CoveringResponse,
): Promise<SnapshotResponse | undefined> {
  const { response, age, status } = stored.origin
  const head = rows.ownHead(target, response.etag) ?? (await add())
  const parts = { ...NO_PARTS, clusterStatus: response.clusterStatus }
  return head && { ...snapshotOf(head, parts), cached: { response, age, status } }

  async function add(): Promise<SnapshotHead | undefined> {
    if (target.policy.isJoined && !WHOLE_JOINED.test(stored.body.toString('latin1', stored.body.length - END_BYTES)))
      return undefined
    const { maxRows, maxBytes } = snapshots()
    const limits = { maxRows, maxBytes, rowsPerCall: maxRows, countsAgents: source.countsAgents === true }
    const collection = await readCollection(
      () => stored,
      request,
      limits,
      () => undefined,
    ).catch(noRows)
    const ms = storageLifetime(response) - age
    const how = { ms, replaced: undefined, isShared: false, id: response.etag }
    return collection && rows.add(target, collection, source, how)
  }
}

const END_BYTES = 64

function noRows(fault: unknown): undefined {
  if (!(fault instanceof SnapshotRefusedError)) throw fault
}

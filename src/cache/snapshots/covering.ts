/**
 * Which stored response of a collection has all of its rows, so that others can be computed from it while no node answers.
 * All replicas find its query in the shared store; a lookup decides whether the response may be served.
 */
import type { CollectionRequest } from '../../collections/request.ts'
import { OUTAGE } from '../../core/cache.ts'
import { NO_PARTS } from '../../core/origins.ts'
import { growingLru } from '../../core/recently-used.ts'
import type { EnvelopeResponse, SnapshotResponse, StoredOrigin } from '../../core/response.ts'
import { isObject, parseJson } from '../../core/values.ts'
import { storageLifetime } from '../stores/local-entries.ts'
import type { SnapshotPorts } from './build.ts'
import type { StoredSource } from './computation.ts'
import type { Derivable } from './derivable.ts'
import { type SnapshotHead, snapshotOf } from './head.ts'
import { readCollection, SnapshotRefusedError } from './read-collection.ts'

type Query = Readonly<Record<string, string>>

/** The order of its rows: that of the collection, or that of a sort. */
const ORDERS = ['own', 'sorted'] as const
type Order = (typeof ORDERS)[number]

interface Noted {
  readonly query: Query
  /** When it is written again, by the clock in milliseconds. */
  readonly renewAt: number
}

const MAX_COLLECTIONS = 5000
/** Parts have an id, and each of these is complete. */
const ID = 'query'

/** What a request is computed from. */
interface Covered {
  readonly derivable: Derivable
  readonly snapshot: SnapshotResponse
}

export class CoveringResponses {
  readonly #ports: SnapshotPorts
  readonly #noted = growingLru<string, Noted>(MAX_COLLECTIONS)

  constructor(ports: SnapshotPorts) {
    this.#ports = ports
  }

  /** Notes that the response to a request has all rows. `ms`: how long it may be served. */
  note(derivable: Derivable, ms: number): void {
    const { query } = derivable.request
    const name = this.#nameOf(derivable, query.sort === undefined ? 'own' : 'sorted')
    const known = this.#noted.get(name)
    const text = JSON.stringify(query)
    const now = this.#ports.clock()
    if (known !== undefined && now < known.renewAt && JSON.stringify(known.query) === text) return
    this.#noted.set(name, { query, renewAt: now + ms / 2 })
    void this.#ports.store.parts?.set(name, ID, [Buffer.from(text)], ms).catch(() => false)
  }

  /** Finds a stored response that has all rows; `undefined`: there is none that may be served. */
  async find(derivable: Derivable, source: StoredSource): Promise<Covered | undefined> {
    const { request, derivation } = derivable
    const { defaultSort: sort, pagesOnly } = derivation.source
    for (const order of ORDERS) {
      const query = await this.#queryOf(this.#nameOf(derivable, order), source.isLocal)
      const target = query && this.#ports.resolveTarget({ ...request, query })
      if (typeof target !== 'object') continue
      const stored = await source.serve(target)
      if (stored?.kind !== 'envelope' || stored.origin.kind !== 'stored') continue
      if (!source.isOnlySource && stored.origin.status.detail !== OUTAGE) continue
      // Rows in another order than that of the collection.
      const isOpen = order === 'sorted' && sort === undefined && derivation.collection.sort === undefined && !pagesOnly
      const covered = { ...derivable, target }
      const snapshot = isOpen ? undefined : await snapshotOfCovering(this.#ports, covered, stored as CoveringResponse)
      if (snapshot === undefined) continue
      const sorted = order === 'sorted' && sort !== undefined ? { sort } : {}
      const collection: CollectionRequest = { ...sorted, ...derivation.collection }
      return { derivable: { ...covered, derivation: { ...derivation, collection } }, snapshot }
    }
    return undefined
  }

  /** `isLocal`: Redis is not asked. */
  async #queryOf(name: string, isLocal = false): Promise<Query | undefined> {
    const known = this.#noted.get(name)?.query
    if (known !== undefined || isLocal) return known
    const [bytes] = (await this.#ports.store.parts?.get(name, ID, 1)) ?? []
    const query = bytes && parseJson(bytes)
    return isObject(query) ? (query as Query) : undefined
  }

  /** Returns the name of all responses from which a request can be computed. */
  #nameOf({ request, target, conditions }: Derivable, order: Order): string {
    const own = this.#ports.resolveTarget({ ...request, query: conditions })
    return `${typeof own === 'string' ? target.key : own.key}:${order}`
  }
}

type CoveringResponse = EnvelopeResponse<StoredOrigin>

/** A joined response that has no further members: it lacks no rows. */
const WHOLE_JOINED = /"totalItems":\d+\}\}$/

/** Returns the rows of the response as those of a snapshot; `undefined`: it does not have all rows, or they are too many. */
async function snapshotOfCovering(
  { rows, settings }: Pick<SnapshotPorts, 'rows' | 'settings'>,
  { request, target, derivation: { source } }: Derivable,
  stored: CoveringResponse,
): Promise<SnapshotResponse | undefined> {
  const { response, age, status } = stored.origin
  const head = rows.ownHead(target, response.etag) ?? (await add())
  const parts = { ...NO_PARTS, clusterStatus: response.clusterStatus }
  return head && { ...snapshotOf(head, parts), cached: { response, age, status } }

  async function add(): Promise<SnapshotHead | undefined> {
    if (target.policy.isJoined && !WHOLE_JOINED.test(stored.body.toString('latin1', stored.body.length - END_BYTES)))
      return undefined
    const { maxRows, maxBytes } = settings().snapshots
    const limits = { maxRows, maxBytes, rowsPerCall: maxRows }
    const collection = await readCollection(() => stored, request, limits).catch(noRows)
    const ms = storageLifetime(response) - age
    const how = { ms, replaced: undefined, isShared: false, id: response.etag }
    return collection && rows.add(target, collection, source, how)
  }
}

const END_BYTES = 64

function noRows(fault: unknown): undefined {
  if (!(fault instanceof SnapshotRefusedError)) throw fault
}

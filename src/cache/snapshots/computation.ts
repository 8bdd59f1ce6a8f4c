/** Computes the response of one request from the rows of a snapshot. */
import { hasListedValues, isDetermined } from '../../collections/determined.ts'
import { frameOf } from '../../collections/page-frame.ts'
import { answerFrom, answerInFrame, type QueriedRows } from '../../collections/queried-rows.ts'
import { CollectionError, MAX_LIMIT } from '../../collections/request.ts'
import { compileProjection } from '../../collections/select.ts'
import { isStaleIfError, OUTAGE, WITHOUT_REDIS } from '../../core/cache.ts'
import { envelopeOf } from '../../core/envelope.ts'
import { isPartial } from '../../core/origins.ts'
import type { EnvelopeResponse, MadeOfParts, ReadResponse, SnapshotResponse } from '../../core/response.ts'
import type { CacheTarget } from '../key.ts'
import { storageLifetime } from '../stores/local-entries.ts'
import type { SnapshotPorts } from './build.ts'
import type { Derivable } from './derivable.ts'
import { type Derivation, selectsAllRows } from './derivation.ts'
import { parseHead, type SnapshotHead } from './head.ts'

/** How a stored snapshot is served because nodes fail or Redis is unreachable. */
export interface StoredSource {
  /** No node answers either: rows that these leave in any order have that of the snapshot. */
  readonly isOnlySource?: boolean
  /** Redis is not asked for the rows. */
  readonly isLocal?: true
  /** Returns what is stored in this place of the cache; `undefined`: nothing that may be served. */
  serve(target: CacheTarget): ReadResponse | undefined | Promise<ReadResponse | undefined>
}

/** How one request is answered from the snapshot that was found. */
export interface Computation {
  /** Whether it takes so long that the request counts as one that costs. */
  readonly isCostly: boolean
  /**
   * Computes the response. Resolves to undefined if a node must answer. `started`: when the request began, by the clock;
   * the cache counts the age of the response from then on.
   */
  run(started: number): Promise<EnvelopeResponse | undefined>
}

/** Values that are tested or sorted in about a millisecond. A client can send thousands of hits per second. */
const MAX_VALUES_OF_HIT = 5000
/**
 * Together they use all time that this process has for them. Nodes answer further requests, except for joined rows: to
 * join their page takes this process longer than to compute it.
 */
const MAX_COSTLY = 16

/** Computes responses from the rows of snapshots. */
export class Computations {
  readonly #ports: Pick<SnapshotPorts, 'rows' | 'clock' | 'onEvent'>
  readonly #onAnswered: (key: string) => void
  /** Costly computations that are under way. */
  #costly = 0

  /** `onAnswered`: receives the key of each stored snapshot that answers a query. */
  constructor(ports: Pick<SnapshotPorts, 'rows' | 'clock' | 'onEvent'>, onAnswered: (key: string) => void) {
    this.#ports = ports
    this.#onAnswered = onAnswered
  }

  /** Resolves to undefined if a node must answer. */
  async prepare(
    derivable: Derivable,
    snapshot: SnapshotResponse,
    stored?: StoredSource,
  ): Promise<Computation | undefined> {
    const { rows, clock } = this.#ports
    const { target, derivation } = derivable
    const received = clock()
    const { cached } = snapshot
    const { age = 0, response } = cached ?? {}
    const head = parseHead(snapshot)
    if (head === undefined) return undefined
    const left = (response === undefined ? 0 : storageLifetime(response)) - age
    const found = await (stored?.isLocal ? rows.held(target, head) : rows.find(target, head, derivation.source, left))
    if (found === undefined) return undefined
    // In an outage, ties have the order of the snapshot, and rows that only the master has are missing.
    const isOnlySource = stored?.isOnlySource === true || cached?.status.detail === OUTAGE
    const isCostly = found.table.valuesToRead(derivation.collection) > MAX_VALUES_OF_HIT
    const compute = async (started: number): Promise<EnvelopeResponse | undefined> => {
      const parts = partsOfRows(snapshot, head)
      const body = await bodyOf(found, derivation, head, { ...derivable, isOnlySource })
      // The edge owns the pages of joined collections, and refuses what they do not support.
      if (body instanceof CollectionError) return target.policy.isJoined ? refuse(body, parts) : undefined
      if (body === undefined) return undefined
      const computed = { kind: 'envelope', status: 200, body, errorNumber: 0 } as const
      if (isPartial(snapshot)) return { ...computed, origin: { ...parts, kind: 'joined', isUnfinished: false } }
      const { hit: isStored = false, detail } = cached?.status ?? {}
      if (isStored) this.#noteAnswered(target)
      return {
        ...computed,
        origin: {
          ...parts,
          kind: 'computed',
          from: detail === WITHOUT_REDIS || isStaleIfError(detail) ? detail : isStored ? 'stored' : 'fetched',
          // The cache counts the time since the request began itself, of which the fetch of a new snapshot is a part.
          oldestPartAge: Math.max(0, age - (received - started)),
          partsFreshFor: (response?.ttl ?? 0) - age - (clock() - received),
        },
      }
    }
    const isBounded = isCostly && !target.policy.isJoined && !isOnlySource
    return { isCostly, run: isBounded ? (started) => this.#runCostly(() => compute(started)) : compute }
  }

  async #runCostly<T>(run: () => Promise<T>): Promise<T | undefined> {
    if (this.#costly >= MAX_COSTLY) return undefined
    this.#costly += 1
    try {
      return await run()
    } finally {
      this.#costly -= 1
    }
  }

  #noteAnswered({ key, policy }: CacheTarget): void {
    this.#ports.rows.count(key, { queries: 1 })
    this.#onAnswered(key)
    this.#ports.onEvent({ kind: 'snapshotQuery', group: policy.group })
  }
}

/** Returns the body of the response, or why the request is refused; `undefined`: only a node has the rows in their order. */
async function bodyOf(
  rows: QueriedRows,
  derivation: Derivation,
  { others, frame }: SnapshotHead,
  {
    request,
    target: { policy },
    isOnlySource,
  }: Pick<Derivable, 'request' | 'target'> & { readonly isOnlySource: boolean },
): Promise<Buffer | CollectionError | undefined> {
  try {
    if (others !== undefined && !selectsAllRows(request)) {
      // The manager refuses unknown fields of `select` before those of `sort`, for which counting fails.
      compileProjection(derivation.collection.select, derivation.source)
      // Rows of a filter that fit into one page are those of the master, which has rows that are gaps here.
      if (!isOnlySource && (await rows.table.page(derivation.collection)).totalItems <= MAX_LIMIT) return undefined
    }
    // The edge itself sorts joined rows.
    const isAnswered = isOnlySource ? hasListedValues : isDetermined
    if (!policy.isJoined && !(await isAnswered(rows.table, derivation.collection, derivation.source))) return undefined
    return await (frame ? answerInFrame(rows, derivation, frame) : answerFrom(rows, derivation, frameOf(others)))
  } catch (fault) {
    if (fault instanceof CollectionError) return fault
    throw fault
  }
}

function partsOfRows({ origin: parts }: SnapshotResponse, { others }: SnapshotHead): MadeOfParts {
  return others && parts.completeness === 'complete' ? { ...parts, completeness: 'knownGaps' } : parts
}

function refuse({ code, message }: CollectionError, parts: MadeOfParts): EnvelopeResponse {
  return envelopeOf({ error: code, message }, { ...parts, kind: 'joined', isUnfinished: false })
}

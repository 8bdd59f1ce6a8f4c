/** Computes the response of one request from the snapshot that was found for it. */

import { isStaleIfError } from '../../core/cache-status.ts'
import { envelopeOf } from '../../core/envelope.ts'
import type { EdgeRead } from '../../core/request.ts'
import { cachedOf, type EnvelopeResponse, type MadeOfParts, partsOf } from '../../core/response.ts'
import { CollectionError, MAX_LIMIT } from '../../query/request.ts'
import { answerFrom, type QueriedRows } from '../../rows/queried-rows.ts'
import type { CacheTarget } from '../key.ts'
import { staleBound } from '../stores/local-entries.ts'
import type { SnapshotPorts } from './builder.ts'
import { type Derivation, selectsAllRows } from './builds.ts'
import { parseHead, type SnapshotHead } from './rows.ts'

/** One request that a snapshot may answer. */
export interface Derivable {
  readonly request: EdgeRead
  /** The key of its own stored response: requests that differ only in spelling have the same one. */
  readonly key: string
  readonly derivation: Derivation
  readonly snapshot: EdgeRead
  readonly target: CacheTarget
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

/** Resolves to undefined if a node must answer. */
type PrepareComputation = (derivable: Derivable, snapshot: EnvelopeResponse) => Promise<Computation | undefined>

/** Values that are tested or sorted in about a millisecond. A client can send thousands of hits per second. */
const MAX_VALUES_OF_HIT = 5000
/**
 * Together they use all time that this process has for them. Nodes answer further requests, except for joined rows: to
 * join their page takes this process longer than to compute it.
 */
const MAX_COSTLY = 16

export function createComputations(ports: Pick<SnapshotPorts, 'rows' | 'clock' | 'onEvent'>): PrepareComputation {
  const { rows, clock, onEvent } = ports
  let costly = 0

  return async ({ request, target, derivation }, snapshot) => {
    const received = clock()
    const cached = cachedOf(snapshot)
    const { age = 0, ttl = 0, ...stored } = cached?.response ?? {}
    const head = parseHead(snapshot)
    if (head === undefined) return undefined
    const left = ttl + staleBound({ staleWhileRevalidate: 0, staleIfError: 0, ...stored }) - age
    const found = await rows.find(target, head, derivation.source, left)
    if (found === undefined) return undefined
    const isCostly = found.table.valuesToRead(derivation.collection) > MAX_VALUES_OF_HIT

    const compute = async (started: number): Promise<EnvelopeResponse | undefined> => {
      const parts = partsOfRows(snapshot, head)
      const body = await bodyOf(found, derivation, head, { request, target })
      // The edge owns the pages of joined collections, and refuses what they do not support.
      if (body instanceof CollectionError) return target.policy.isJoined ? refuse(body, parts) : undefined
      if (body === undefined) return undefined
      const response = { kind: 'envelope', status: 200, body, errorNumber: 0 } as const
      if (parts.completeness === 'partial')
        return { ...response, origin: { ...parts, kind: 'joined', isUnfinished: false } }
      const { hit: isStored = false, detail } = cached?.status ?? {}
      if (isStored) {
        rows.count(target.key, { queries: 1 })
        onEvent({ kind: 'snapshotQuery', group: target.policy.group })
      }
      return {
        ...response,
        origin: {
          ...parts,
          kind: 'computed',
          from: isStaleIfError(detail) ? detail : isStored ? 'stored' : 'fetched',
          // The cache counts the time since the request began itself, of which the fetch of a new snapshot is a part.
          oldestPartAge: Math.max(0, age - (received - started)),
          partsFreshFor: ttl - age - (clock() - received),
        },
      }
    }

    const run = async (started: number): Promise<EnvelopeResponse | undefined> => {
      if (!isCostly || target.policy.isJoined) return compute(started)
      if (costly >= MAX_COSTLY) return undefined
      costly += 1
      try {
        return await compute(started)
      } finally {
        costly -= 1
      }
    }
    return { isCostly, run }
  }
}

/** Returns the body of the response, or why the request is refused; `undefined`: only a node has the rows in their order. */
async function bodyOf(
  rows: QueriedRows,
  derivation: Derivation,
  { others }: SnapshotHead,
  { request, target: { policy } }: Pick<Derivable, 'request' | 'target'>,
): Promise<Buffer | CollectionError | undefined> {
  try {
    // Rows of a filter that fit into one page are those of the master, which has rows that are gaps here.
    const hasGaps = others !== undefined && !selectsAllRows(request)
    if (hasGaps && (await rows.table.page(derivation.collection)).totalItems <= MAX_LIMIT) return undefined
    // The edge itself sorts joined rows.
    if (!policy.isJoined && !(await rows.table.hasOrderOfManager(derivation.collection))) return undefined
    return await answerFrom(rows, derivation, others)
  } catch (fault) {
    if (fault instanceof CollectionError) return fault
    throw fault
  }
}

/** Returns what the rows of a snapshot were made of. */
function partsOfRows({ origin }: EnvelopeResponse, { others }: SnapshotHead): MadeOfParts {
  const parts = partsOf(origin)
  return others && parts.completeness === 'complete' ? { ...parts, completeness: 'knownGaps' } : parts
}

function refuse({ code, message }: CollectionError, parts: MadeOfParts): EnvelopeResponse {
  return envelopeOf({ error: code, message }, { ...parts, kind: 'joined', isUnfinished: false })
}

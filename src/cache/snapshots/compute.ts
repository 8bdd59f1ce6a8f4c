/** Computes the response of one request from the snapshot that was found for it. */
import type { EdgeRequest } from '../../core/request.ts'
import type { JsonResponse } from '../../core/response.ts'
import { CollectionError } from '../../query/request.ts'
import type { CacheTarget } from '../key.ts'
import { staleBound } from '../stores/local-entries.ts'
import { answerFrom } from './answer.ts'
import type { SnapshotPorts } from './builder.ts'
import type { Derivation } from './derivation.ts'
import type { QueriedRows } from './queried-rows.ts'
import { parseHead, type SnapshotHead } from './rows.ts'

/** One request that a snapshot may answer. */
export interface Derivable {
  readonly request: EdgeRequest
  readonly derivation: Derivation
  readonly snapshot: EdgeRequest
  readonly target: CacheTarget
}

/**
 * Computes the response of one request from the snapshot that was found. Resolves to undefined if a node must answer.
 * `started`: when the request began, by the clock; the cache counts the age of the response from then on.
 */
export type ComputeResponse = (started: number) => Promise<JsonResponse | undefined>

/** `started`, `received`: when the request began, and when the snapshot was found, by the clock. */
interface Times {
  readonly started: number
  readonly received: number
}

type Compute = (derivable: Derivable, snapshot: JsonResponse, times: Times) => Promise<JsonResponse | undefined>

export function createComputation({
  rows,
  clock,
  onEvent,
}: Pick<SnapshotPorts, 'rows' | 'clock' | 'onEvent'>): Compute {
  return async ({ target, derivation }, snapshot, { started, received }) => {
    const { age = 0, ttl = 0, ...stored } = snapshot.cached?.response ?? {}
    const head = parseHead(snapshot)
    if (head === undefined) return undefined
    const left = ttl + staleBound({ staleWhileRevalidate: 0, staleIfError: 0, ...stored }) - age
    const found = await rows.find(target, head, derivation.source, left)
    if (found === undefined) return undefined
    const joined = joinedFactsOf(snapshot, head)
    const body = await bodyOf(found, asOf(derivation, age + clock() - received), head)
    // The edge owns the pages of joined collections, and refuses what they do not support.
    if (body instanceof CollectionError) return target.policy.isJoined ? refuse(body, joined) : undefined
    if (snapshot.partial) return { kind: 'json', status: 200, body, errorNumber: 0, ...joined }
    const isStored = snapshot.cached?.status.hit === true
    if (isStored) {
      rows.count(target.key, { queries: 1 })
      onEvent({ kind: 'snapshotQuery', group: target.policy.group })
    }
    return {
      kind: 'json',
      status: 200,
      body,
      errorNumber: 0,
      ...joined,
      derivedFrom: isStored ? 'stored' : 'fetched',
      // The cache counts the time since the request began itself, of which the fetch of a new snapshot is a part.
      oldestPartAge: Math.max(0, age - (received - started)),
      partsFreshFor: ttl - age - (clock() - received),
    }
  }
}

/**
 * Counts time frames (`older_than=1d`) back from the time of the rows, as the node did for each response of that age. In
 * rows of some seconds ago, every agent would seem to report late. `age`: of the rows, in milliseconds.
 */
function asOf({ source, collection }: Derivation, age: number): Derivation {
  return { source, collection: { ...collection, now: new Date(Date.now() - age) } }
}

/** Returns the body of the response, or why the request is refused. */
async function bodyOf(
  rows: QueriedRows,
  derivation: Derivation,
  { others }: SnapshotHead,
): Promise<Buffer | CollectionError> {
  try {
    return await answerFrom(rows, derivation, others)
  } catch (fault) {
    if (fault instanceof CollectionError) return fault
    throw fault
  }
}

/** What a response has from the joined response of its snapshot. */
type JoinedFacts = Pick<JsonResponse, 'clusterStatus' | 'partial' | 'hasKnownGaps'>

function joinedFactsOf({ clusterStatus, partial }: JsonResponse, { others }: SnapshotHead): JoinedFacts {
  return {
    ...(clusterStatus !== undefined && { clusterStatus }),
    ...(partial && { partial }),
    ...(others && { hasKnownGaps: true }),
  }
}

function refuse({ code, message }: CollectionError, joined: JoinedFacts): JsonResponse {
  const body = Buffer.from(JSON.stringify({ error: code, message }))
  return { kind: 'json', status: 200, body, errorNumber: code, ...joined }
}

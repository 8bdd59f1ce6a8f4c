/** The requests of `manager-edge warm`, with a concurrency that follows the load of the nodes. */
import { acceptsCalls, type NodeSummary, type Nodes } from '../admin/console/node-types.ts'
import { parseJson } from '../core/values.ts'
import { type EdgeClient, type ReceivedResponse, UnauthorizedError } from './edge-client.ts'
import { CommandError } from './terminal.ts'

/** `cached`: stored before this request. `uncached`: a good response that the edge does not store. */
export type Outcome = 'stored' | 'cached' | 'uncached' | 'failed'

export interface WarmResult {
  readonly path: string
  readonly outcome: Outcome
  /** Why the request failed or its response is not stored. */
  readonly reason?: string
}

export interface WarmAllOptions {
  readonly get: (path: string) => Promise<ReceivedResponse>
  readonly concurrency: Pick<AdaptiveConcurrency, 'limit' | 'succeed' | 'reject'>
  readonly onResult: (result: WarmResult) => void
  /** Called with the milliseconds of a pause, after 429 or 503. */
  readonly onPause: (milliseconds: number) => void
  readonly sleep: (milliseconds: number) => Promise<unknown>
  readonly now: () => number
}

interface Task {
  readonly path: string
  readonly attempt: number
}

const MAX_ATTEMPTS = 5
const FIRST_PAUSE_MS = 1000
const MAX_PAUSE_MS = 60_000

/**
 * Requests all paths. After 429 or 503, a path is requested again after `Retry-After`, or after a pause that grows.
 * Rejects with a `CommandError` if the edge refuses the credentials or the log-in.
 */
export async function warmAll(paths: readonly string[], options: WarmAllOptions): Promise<void> {
  const { get, concurrency, onResult, onPause, sleep, now } = options
  const retries: Task[] = []
  let started = 0
  const nextTask = () =>
    retries.shift() ?? (started < paths.length ? { path: paths[started++] ?? '', attempt: 1 } : undefined)
  const inFlight = new Set<Promise<void>>()
  // One pause for all requests: a node that is full for one request is full for the others.
  let pausedUntil = 0

  const request = async ({ path, attempt }: Task): Promise<void> => {
    const response = await get(path).catch((error: Error) => error)
    if (response instanceof CommandError) throw response
    if (response instanceof Error)
      return onResult({ path, outcome: 'failed', reason: response.message || response.name })
    const { status, retryAfterMs } = response
    if (status === 401) throw new UnauthorizedError()
    const isRejected = status === 503 || status === 429
    if (isRejected) concurrency.reject()
    else concurrency.succeed()
    if (!isRejected || attempt === MAX_ATTEMPTS) return onResult({ path, ...classify(response) })
    const pause = Math.min(MAX_PAUSE_MS, retryAfterMs ?? FIRST_PAUSE_MS * 2 ** attempt)
    if (now() + pause > pausedUntil) onPause(pause)
    pausedUntil = Math.max(pausedUntil, now() + pause)
    retries.push({ path, attempt: attempt + 1 })
  }

  try {
    while (started < paths.length || retries.length > 0 || inFlight.size > 0) {
      const task = inFlight.size < concurrency.limit && pausedUntil <= now() ? nextTask() : undefined
      if (task !== undefined) {
        const done = request(task).finally(() => inFlight.delete(done))
        inFlight.add(done)
      } else if (inFlight.size > 0) await Promise.race(inFlight)
      else await sleep(pausedUntil - now())
    }
  } finally {
    await Promise.allSettled(inFlight)
  }
}

/** Reads the outcome from `Cache-Status` (RFC 9211). With `ttl` alone, the response is being written to a slow store. */
export function classify({ status, cacheStatus }: ReceivedResponse): Omit<WarmResult, 'path'> {
  if (status !== 200) return { outcome: 'failed', reason: `HTTP ${status}` }
  if (/;\s*hit\b/.test(cacheStatus)) return { outcome: 'cached' }
  if (/;\s*(?:stored|collapsed|ttl=[1-9])/.test(cacheStatus)) return { outcome: 'stored' }
  return { outcome: 'uncached', reason: cacheStatus === '' ? 'never stored' : cacheStatus }
}

/** A limit of concurrent requests: starts with one, grows by one after a round without rejections, halves after one. */
export type AdaptiveConcurrency = ReturnType<typeof createAdaptiveConcurrency>

/** The load of a node as `GET /api/nodes` of the operations listener reports it. */
export type NodeLoad = Pick<NodeSummary, 'inFlight' | 'limit' | 'queue'>

export function createAdaptiveConcurrency(max: number) {
  let limit = 1
  let ceiling = max
  let successes = 0
  const halve = () => {
    limit = Math.max(1, Math.floor(limit / 2))
    successes = 0
  }
  return {
    get limit(): number {
      return limit
    },
    /** To be called for each response that is no rejection. */
    succeed(): void {
      successes += 1
      if (successes < limit) return
      limit = Math.min(ceiling, limit + 1)
      successes = 0
    },
    /** To be called for each 429 or 503. */
    reject: halve,
    /** Takes the load of the nodes into account; `undefined`: it cannot be read any more. */
    updateNodes(nodes: readonly NodeLoad[] | undefined): void {
      // If the load is unknown, one request at a time is safe.
      const shares = nodes?.map((node) => ownShare(node, limit)) ?? []
      ceiling = shares.length === 0 ? 1 : Math.max(1, Math.min(max, ...shares))
      limit = Math.min(limit, ceiling)
      if (nodes?.some(({ queue }) => queue > 0)) halve()
    },
  }
}

/** Returns half of the slots that other callers leave free. All of the `own` requests may be on this node. */
function ownShare({ limit, inFlight }: NodeLoad, own: number): number {
  return Math.floor((limit - Math.max(0, inFlight - own)) / 2)
}

/** Reads the load of the nodes from the operations listener. Rejects with a `CommandError` if that fails. */
export async function fetchNodeLoads(operations: Pick<EdgeClient, 'getText'>): Promise<readonly NodeLoad[]> {
  const { status, text } = await operations.getText('/api/nodes').catch((error: Error) => {
    throw new CommandError(`the operations listener cannot be reached: ${error.message}`)
  })
  const nodes = status === 200 ? parseNodes(text) : undefined
  if (nodes !== undefined) return nodes
  throw new CommandError(`GET /api/nodes of the operations listener has status ${status}; it needs operations:read`)
}

/** Returns the nodes that accept calls. */
function parseNodes(text: string): readonly NodeLoad[] | undefined {
  const { nodes } = (parseJson(text) ?? {}) as Partial<Nodes>
  return nodes?.filter((node) => acceptsCalls(node) && node.limit > 0)
}

/** One call to the nodes, and what is kept of it: as of what the store said before they were asked. */
import type { CacheGroup } from '../catalogue/endpoint.ts'
import { etagOf, isStorable } from '../core/envelope.ts'
import type { CacheEvent } from '../core/events.ts'
import type { AsyncHandler, EdgeRequest } from '../core/request.ts'
import type { EdgeResponse, Lookup, StoredResponse, TagEpochs } from '../core/response.ts'
import { withTimeout } from '../core/timing.ts'
import type { CopiedData } from './copied.ts'
import type { Prepared } from './prepare.ts'
import type { CacheStore } from './stores/contract.ts'

/** Milliseconds: fresh, and after that served while it is fetched anew, or when nodes fail. */
export interface Durations {
  readonly ttl: number
  readonly staleWhileRevalidate: number
  readonly staleIfError: number
}

export interface FillPorts {
  readonly store: CacheStore
  /** By group, and by the route template where one endpoint has a pace of its own. */
  readonly durationsOf: (group: CacheGroup, endpoint: string) => Durations
  readonly copied: CopiedData
  /** Milliseconds after which a holder on another replica that gave no sign counts as dead. */
  readonly patience: (ask: EdgeRequest) => number
  readonly clock: () => number
  readonly onEvent: (event: CacheEvent) => void
}

/** `kept`: it may be kept; `stored`: this call kept it. */
export interface Filled {
  readonly answer: EdgeResponse
  readonly kept?: StoredResponse
  readonly stored?: true
  readonly collapsed?: true
}

export interface Request {
  readonly ask: EdgeRequest
  readonly prepared: Prepared
  /** What the store said when the request came. */
  readonly look: Lookup
}

/** Milliseconds that an answer waits to be kept, so that the next request finds it. A store that stalls holds up nobody. */
const KEEPING = 50

/** What nodes said. `keeping` resolves when the store is done with it. */
export interface Fetched {
  readonly filled: Filled
  readonly keeping: Promise<void>
}

export const nothingToKeep = Promise.resolve()

/** The mark that an answer may be kept under, read before the nodes are asked; none while a write is under way. */
function openMark(look: Lookup): TagEpochs | undefined {
  return look.kind === 'unavailable' || look.epochs.fenced ? undefined : look.epochs
}

/** Asks the nodes. The answer is kept as of `look`, which came before; the store compares when it is read. */
export async function fetch(ports: FillPorts, next: AsyncHandler, request: Request, look: Lookup): Promise<Fetched> {
  const { plan, key, tags, listed } = request.prepared
  const ask = anew(request.ask, plan, request.look)
  const began = ports.clock()
  const masterOnly = plan.copied && ports.copied.changed(tags, look)
  const tell = (outcome: 'kept' | 'unkept' | 'failed') =>
    ports.onEvent({ kind: 'fill', group: plan.group, outcome, ms: ports.clock() - began })
  const answer = await next(masterOnly ? { ...ask, masterOnly } : ask).catch((fault: unknown) => {
    tell('failed')
    throw fault
  })
  const mark = openMark(look)
  if (mark === undefined || !isStorable(answer)) {
    tell('unkept')
    return { filled: { answer }, keeping: nothingToKeep }
  }
  tell('kept')
  const { status, body: bytes, clusterStatus, oldestPartAge: older = 0 } = answer
  const cost = ports.clock() - began
  const times = { ...ports.durationsOf(plan.group, ask.endpoint.path), fetchTime: cost }
  const entry = {
    status,
    body: bytes,
    etag: etagOf(bytes),
    ...times,
    ...(clusterStatus !== undefined && { clusterStatus }),
  }
  const keeping = ports.store.store({ key, tags, epochs: mark, response: entry, initialAge: older, info: listed })
  return { filled: { answer, kept: { ...entry, age: cost + older } }, keeping }
}

/** Parts that are no younger than the whole that is to be replaced would give the same again. */
function anew(ask: EdgeRequest, { joined }: Prepared['plan'], look: Lookup): EdgeRequest {
  return joined && look.kind === 'hit' ? { ...ask, maxAge: look.response.age } : ask
}

/** What was fetched, as soon as it is kept, or when that takes too long: then nobody says that it is. */
export function kept({ filled, keeping }: Fetched): Promise<Filled> {
  const stored = keeping.then((): Filled => (filled.kept === undefined ? filled : { ...filled, stored: true }))
  return withTimeout(stored, KEEPING, filled)
}

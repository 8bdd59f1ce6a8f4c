import { setMaxListeners } from 'node:events'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { EdgeError } from '../core/errors.ts'
import type { JoinEvent } from '../core/events.ts'
import type { ClusterView } from '../core/node-call.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import { parseSort } from '../query/order.ts'
import type { DatabaseSource } from '../query/sources.ts'
import type { Owners } from './agent-owners.ts'
import type { JoinHow } from './bytes/join.ts'
import type { Get } from './node-pages.ts'
import { createAskPart } from './node-part.ts'
import { Ledger } from './node-report.ts'

/** One joined read while it is made: what it is of, its time, its book, and how parts are asked for. */

export interface JoinPorts extends Limits {
  /** The road of reads: each part comes by it, and is kept on its own. */
  readonly read: Handler
  readonly view: ClusterView
  readonly owners: Pick<Owners, 'homes' | 'verifiedOwners'>
  readonly distribution: 'manager' | 'edge'
  readonly catalogue: readonly Endpoint[]
  /** Hears of each answer that is made, or fails whole. */
  readonly composed?: (event: JoinEvent) => void
}

export interface Reading {
  readonly ask: EdgeRequest
  readonly ports: JoinPorts
  readonly fanOut: FanOut
  readonly ledger: Ledger
  readonly get: Get
}

export function createReadings(ports: JoinPorts): (ask: EdgeRequest) => Reading {
  const askPart = createAskPart(ports.read)
  return (ask) => {
    const fanOut = startFanOut(ask, ports)
    const ledger = new Ledger(
      ports.view.nodes().map(({ name }) => name),
      fanOut.began,
    )
    const get: Get = async (node, part, until = fanOut.until) => {
      const given = await askPart({ ...part, signal: fanOut.signal, deadline: until }, ask.signal)
      if (given.ok) ledger.gave(node, given)
      return given
    }
    return { ask, ports, fanOut, ledger, get }
  }
}

const OFFSET = 0
const LIMIT = 500

/** The window that the client asks for; it was validated. */
export function windowOf({ query }: EdgeRequest): Pick<JoinHow, 'offset' | 'limit'> {
  return { offset: Number(query.offset ?? OFFSET), limit: Number(query.limit ?? LIMIT) }
}

/** The fields of a table that rows are ordered by: those of `sort`, else those of its own order. */
export function orderFields(sort: string | undefined, source: DatabaseSource): readonly string[] {
  const { fields } = parseSort(sort ?? '')
  return fields.length > 0 ? fields : parseSort(source.order ?? '').fields
}

/** `select` with the fields that rows are ordered by, and those among them that the client did not ask for. */
export function withOrderFields(
  { select, sort }: EdgeRequest['query'],
  source: DatabaseSource,
): { readonly select?: string; readonly drop?: readonly string[] } {
  if (select === undefined) return {}
  const asked = select.split(',')
  const known = orderFields(sort, source).filter((field) => Object.hasOwn(source.fields, field))
  const drop = known.filter((field) => !asked.includes(field))
  return drop.length === 0 ? { select } : { select: [...asked, ...drop].join(','), drop }
}

export function without(query: EdgeRequest['query'], ...names: readonly string[]): EdgeRequest['query'] {
  return Object.fromEntries(Object.entries(query).filter(([name]) => !names.includes(name)))
}

/**
 * Deadlines nest, each with room for the outer one to answer: client > request > fan-out > node. A node that stalls costs
 * its own, and what the others gave is still in time.
 */

export interface FanOut {
  /** Aborted when the client leaves, or when the time of all parts is over. */
  readonly signal: AbortSignal
  readonly began: number
  /** The moment (performance.now) by which nodes must have answered; Infinity without a limit. */
  readonly until: number
  /** So much of the nodes' time has gone by then: 0.5 is half of it. */
  moment(share: number): number
  /** Frees the timer; to be called when the answer is made. */
  end(): void
}

export interface Limits {
  /** Milliseconds that a request may take; `slowTimeout` for records that are slow by nature. */
  readonly timeout: number
  readonly slowTimeout: number
}

/** Between two deadlines: a part of the time, and never more than this. */
const ROOM = 0.04
const MOST_ROOM = 400

export function startFanOut(
  { endpoint, signal, waitForComplete }: EdgeRequest,
  { timeout, slowTimeout }: Limits,
): FanOut {
  const controller = new AbortController()
  // Each of many nodes listens; Node would take more than ten of them for a leak.
  setMaxListeners(0, controller.signal)
  const began = performance.now()
  const whole = endpoint.slow === true ? slowTimeout : timeout
  const room = Math.min(MOST_ROOM, whole * ROOM)
  const leave = () => controller.abort(signal.reason)
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  // Nodes are given up on by their own deadline; this one is for what waits elsewhere: a fill of another replica.
  const late = () => controller.abort(new EdgeError(922, ' (its part was not there in time)'))
  const timer = waitForComplete ? undefined : setTimeout(late, whole - room)
  const given = waitForComplete ? Number.POSITIVE_INFINITY : whole - 2 * room
  return {
    signal: controller.signal,
    began,
    until: began + given,
    moment: (share) => began + given * share,
    end: () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', leave)
    },
  }
}

/** Does pieces of work, so many at once, and gives what came of each in the order of the pieces. */
export async function inLanes<In, Out>(
  pieces: readonly In[],
  most: number,
  work: (piece: In) => Promise<Out>,
): Promise<Out[]> {
  const done: Out[] = []
  let next = 0
  const lane = async () => {
    for (let at = next++; at < pieces.length; at = next++) done[at] = await work(pieces[at] as In)
  }
  await Promise.all(Array.from({ length: Math.min(most, pieces.length) }, lane))
  return done
}

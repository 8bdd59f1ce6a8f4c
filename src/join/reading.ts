/** One joined read while it is made: what it is of, its time, its book, and how parts are asked for. */

import type { Endpoint } from '../catalogue/endpoint.ts'
import type { JoinEvent } from '../core/events.ts'
import type { ClusterView } from '../core/node-call.ts'
import type { AsyncHandler, EdgeRequest } from '../core/request.ts'
import { parseSort } from '../query/order.ts'
import type { DatabaseSource } from '../query/source.ts'
import type { JoinHow } from './bytes/join.ts'
import { type FanOut, type Limits, startFanOut } from './deadline.ts'
import { Ledger } from './ledger.ts'
import type { Owners } from './owners.ts'
import type { Get } from './pages.ts'
import { createAskPart } from './part.ts'

export interface JoinPorts extends Limits {
  /** The road of reads: each part comes by it, and is kept on its own. */
  readonly read: AsyncHandler
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

/** The form of the reports that replicas exchange, and what one of them is made of. */
import { Type } from 'typebox'
import type { LocalState } from '../core/cache.ts'
import type { NodeState, ReplicaSummary, ReportedNode } from './node-types.ts'
import { parserOf } from './validation.ts'

/** What the console adds to the report of this replica. Consoles validate what those of other replicas have added. */
export interface ReplicaReport extends Readonly<Record<'costs' | 'events', Exchanged>> {
  /** Returns the rates of the last seconds. */
  rates(): object
  /** Returns joined responses, the newest first. As many are sent as fit. */
  joined(): readonly object[]
}

/** What the edge itself reports. */
export interface ReplicaSelf extends Readonly<Record<'settings', Exchanged>> {
  readonly name: string
  readonly version: string
  ready(): boolean
  draining(): boolean
  /** The contact of this replica with the nodes, from which the others conclude whether a replica is cut off. */
  contact(): Pick<ReplicaSummary, 'failing' | 'answered'>
  /** Returns the state of its local tier; undefined if nothing is stored. */
  local(): LocalState | undefined
  nodes(): readonly ReportedNode[]
  /** The list of nodes that one replica reads for all: what this replica has read, and where those of others go. */
  readonly nodeList: {
    lastRead(): unknown
    /** Checks the list. `ago`: milliseconds since it was published. */
    offer(list: unknown, ago: number): void
  }
}

/** A part of the report that another module makes, and checks in the reports of others. */
export interface Exchanged {
  report(): unknown
  /** Undefined: Redis is unreachable. */
  offer(reports: readonly unknown[] | undefined): void
}

/** Others skip a longer report as a whole, so it is sent without parts that would exceed it. */
const MAX_REPORT_CHARS = 65_536
const MAX_NODES = 200
const MAX_JOINED = 20
const MAX_FAILURE_CHARS = 200

/** The parts that other modules make. */
export const EXCHANGED_NAMES = ['settings', 'costs', 'events'] as const
type ExchangedName = (typeof EXCHANGED_NAMES)[number]

const number = Type.Number()
export const text = Type.String({ maxLength: 300 })
const lastFailure = Type.Optional(Type.Object({ fault: text, detail: text, ago: number }))
/** Another version may know further states. */
const state = Type.Unsafe<NodeState['state']>(text)
const latestCalls = Type.Optional(Type.Array(Type.Object({ node: text, ago: number }), { maxItems: MAX_NODES }))
/**
 * Other programs may write to this Redis, so a report is validated before it is used. Not the list of nodes and the parts of
 * other modules, which check them: a form of another version must not make the whole report invalid.
 */
const reportSchema = Type.Object({
  name: text,
  version: text,
  ready: Type.Boolean(),
  draining: Type.Optional(Type.Boolean()),
  wall: Type.Optional(number),
  failing: latestCalls,
  answered: latestCalls,
  local: Type.Optional(
    Type.Object({
      bytes: number,
      entries: number,
      limit: number,
      evictions: Type.Object({ limit: number, expired: number, invalidated: number, replaced: number }),
    }),
  ),
  nodes: Type.Array(Type.Object({ name: text, state, inFlight: number, limit: number, lastFailure }), {
    maxItems: MAX_NODES,
  }),
  nodeList: Type.Optional(Type.Unknown()),
})
const parseReport = parserOf(reportSchema, MAX_REPORT_CHARS)

/** Returns the report as text. */
export function formatReport(self: ReplicaSelf & ReplicaReport): string {
  const { name, version, ready, draining, contact, rates, local, nodes, joined, nodeList } = self
  const { failing, answered } = contact()
  const states = { ready: ready(), draining: draining() }
  const listed = nodes().slice(0, MAX_NODES)
  const needed = {
    ...{ name, version, ...states, wall: Date.now(), rates: rates(), local: local() },
    ...{ failing: wholeTimes(failing), answered: wholeTimes(answered) },
    nodes: listed.map(({ name, state, inFlight, limit }) => ({ name, state, inFlight, limit })),
  }
  /** The least important first. */
  const optional: Record<string, unknown> = {
    nodes: listed.map((node, at) => ({ ...needed.nodes[at], ...failureOf(node) })),
    events: self.events.report(),
    costs: self.costs.report(),
    settings: self.settings.report(),
    nodeList: nodeList.lastRead(),
  }
  const removable = Object.keys(optional)
  let shown = joined().slice(0, MAX_JOINED)
  for (;;) {
    const text = JSON.stringify({ ...needed, ...optional, joined: shown })
    if (text.length <= MAX_REPORT_CHARS || removable.length === 0) return text
    if (shown.length > 0) shown = shown.slice(0, shown.length / 2)
    else delete optional[removable.shift() ?? '']
  }
}

/** Returns the last failure of a node that is not up. */
function failureOf({ state, lastFailure }: ReportedNode): Pick<ReportedNode, 'lastFailure'> {
  if (state === 'up' || lastFailure === undefined) return {}
  return { lastFailure: { ...lastFailure, detail: lastFailure.detail.slice(0, MAX_FAILURE_CHARS) } }
}

function wholeTimes(calls: ReplicaSummary['failing']): ReplicaSummary['failing'] {
  return calls?.slice(0, MAX_NODES).map(({ node, ago }) => ({ node, ago: Math.round(ago) }))
}

/** Returns an empty list if the report is not valid. `ago`: milliseconds since it was published. */
export function readReport(text: string, ago: number) {
  const value = parseReport(text)
  if (value === undefined) return []
  const { nodeList, settings, costs, events, wall, ...report } = value as typeof value & AddedParts
  // `ago` is the time of Redis, so the clocks are compared through the one that all replicas see.
  const clock = wall !== undefined && { clockAhead: Math.round(wall + ago - Date.now()) }
  const summary: ReplicaSummary = { ...report, ago, ...clock }
  return [{ summary, nodeList, exchanged: { settings, costs, events } }]
}

type AddedParts = Partial<Readonly<Record<ExchangedName | 'rates' | 'joined', unknown>>>

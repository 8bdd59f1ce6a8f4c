/** The form of the reports that replicas exchange, and what one of them is made of. */
import { Type } from 'typebox'
import type { LocalState } from '../core/cache.ts'
import type { JoinedResponse, NodeSummary, Rates, ReplicaSummary, ReportedNode } from './node-types.ts'
import { parserOf } from './validation.ts'

/** What a plugin adds to the report of this replica. The rates are those of the last seconds. */
export interface ReplicaReport extends Readonly<Record<'costs' | 'events', Exchanged>> {
  rates(): Rates
  joined(): readonly JoinedResponse[]
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

/** Others skip a longer report as a whole, so parts that would exceed it are left out. */
const MAX_REPORT_CHARS = 65_536
/** The parts of a report for the states of the nodes, and for the latest calls to them: twice. */
const MAX_NODES_CHARS = 20_480
const MAX_CALLS_CHARS = 8192
/** For the names of the parts. */
const MAX_NAMES_CHARS = 512
/** The part of a report for joined responses, which are long if a cluster has many nodes. */
const MAX_JOINED_CHARS = 8192
/** The part of a report for the list of nodes. Without it, each replica reads the list of a larger cluster by itself. */
const MAX_NODE_LIST_CHARS = 8192

/** The parts that other modules make, the most important first, with the characters for each of them. */
const MAX_EXCHANGED_CHARS = {
  /** Digests of the settings. */
  settings: 8192,
  /** What its requests cost. */
  costs: 16_384,
  /** Its newest events. */
  events: 4096,
}
type ExchangedName = keyof typeof MAX_EXCHANGED_CHARS
export const EXCHANGED_NAMES = Object.keys(MAX_EXCHANGED_CHARS) as ExchangedName[]

const MAX_NODES = 200

const number = Type.Number()
const optionalNumber = Type.Optional(Type.Number())
export const text = Type.String({ maxLength: 300 })
/** The failure of one node, and the part of a report for all of them. */
const MAX_FAILURE_CHARS = 200
const MAX_FAILURES_CHARS = 8192
const lastFailure = Type.Optional(Type.Object({ fault: text, detail: text, ago: number }))
/** Another version may know further states. */
const state = Type.Unsafe<NodeSummary['state']>(text)
const nodePart = Type.Object({
  node: text,
  rows: optionalNumber,
  total: optionalNumber,
  ms: optionalNumber,
  error: Type.Optional(text),
  errorKind: Type.Optional(Type.Enum(['failed', 'answered', 'knownLimit'])),
})
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
  wall: optionalNumber,
  failing: latestCalls,
  answered: latestCalls,
  rates: Type.Object({
    perSecond: number,
    cacheablePerSecond: optionalNumber,
    callsPerSecond: number,
    savedPerSecond: number,
    failuresPerSecond: number,
    hitRatio: optionalNumber,
    p50: optionalNumber,
    p99: optionalNumber,
  }),
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
  joined: Type.Optional(Type.Array(Type.Object({ ago: number, route: text, ms: number, nodes: Type.Array(nodePart) }))),
  nodeList: Type.Optional(Type.Unknown()),
})
const parseReport = parserOf(reportSchema, MAX_REPORT_CHARS)

/** Returns the report as text, with as much of its parts as others accept. */
export function formatReport(self: ReplicaSelf & ReplicaReport): string {
  const { name, version, ready, draining, contact, rates, local, nodes, joined, nodeList } = self
  const { failing, answered } = contact()
  const states = { ready: ready(), draining: draining() }
  const head = { name, version, ...states, wall: Date.now(), rates: rates(), local: local() }
  const take = takeInto(MAX_REPORT_CHARS - MAX_NAMES_CHARS - JSON.stringify(head).length)
  const listed = nodes().slice(0, MAX_NODES)
  const nodeStates = listed.map(({ name, state, inFlight, limit }) => ({ name, state, inFlight, limit }))
  // The most important parts first: each may use what those before it have left.
  const [shownNodes, failed, reachable] = [
    take(nodeStates, MAX_NODES_CHARS),
    take(wholeTimes(failing), MAX_CALLS_CHARS),
    take(wholeTimes(answered), MAX_CALLS_CHARS),
  ]
  const [list] = take([nodeList.lastRead()], MAX_NODE_LIST_CHARS)
  const exchanged = EXCHANGED_NAMES.map((part) => [part, ...take([self[part].report()], MAX_EXCHANGED_CHARS[part])])
  const joinedShown = take(joined(), MAX_JOINED_CHARS)
  const failures = take(listed.slice(0, shownNodes.length).map(shortFailureOf), MAX_FAILURES_CHARS)
  return JSON.stringify({
    ...head,
    ...(failing && { failing: failed }),
    ...(answered && { answered: reachable }),
    nodes: shownNodes.map((node, at) => ({ ...node, ...failures[at] })),
    joined: joinedShown,
    nodeList: list,
    ...Object.fromEntries(exchanged),
  })
}

/** Returns the last failure of a node that is not up, unless its text is long. */
function shortFailureOf({ state, lastFailure }: ReportedNode): Pick<ReportedNode, 'lastFailure'> {
  const isShort = lastFailure !== undefined && JSON.stringify(lastFailure).length <= MAX_FAILURE_CHARS
  return state !== 'up' && isShort ? { lastFailure } : {}
}

function wholeTimes(calls: ReplicaSummary['failing'] = []): NonNullable<ReplicaSummary['failing']> {
  return calls.slice(0, MAX_NODES).map(({ node, ago }) => ({ node, ago: Math.round(ago) }))
}

/**
 * Returns a function that takes the first values whose JSON has at most `maxChars` characters, with a comma for each; all its
 * calls together take `chars`.
 */
function takeInto(chars: number): <Value>(values: readonly Value[], maxChars: number) => readonly Value[] {
  let left = chars
  return (values, maxChars) => {
    let leftOfPart = Math.min(left, maxChars)
    const lengths = values.map((value) => (JSON.stringify(value) ?? '').length + 1)
    const end = lengths.findIndex((length) => {
      leftOfPart -= length
      return leftOfPart < 0
    })
    const count = end === -1 ? values.length : end
    left -= lengths.slice(0, count).reduce((sum, length) => sum + length, 0)
    return values.slice(0, count)
  }
}

/** Returns an empty list if the report is not valid. `ago`: milliseconds since it was published. */
export function readReport(text: string, ago: number) {
  const value = parseReport(text)
  if (value === undefined) return []
  const { nodeList, settings, costs, events, wall, ...report } = value as typeof value & Partial<ExchangedParts>
  const joined = report.joined?.map((each) => ({ ...each, ago: each.ago + ago }))
  // `ago` is the time of Redis, so the clocks are compared through the one that all replicas see.
  const clock = wall !== undefined && { clockAhead: Math.round(wall + ago - Date.now()) }
  const summary: ReplicaSummary = { ...report, ago, ...clock, ...(joined && { joined }) }
  return [{ summary, nodeList, exchanged: { settings, costs, events } }]
}

type ExchangedParts = Readonly<Record<ExchangedName, unknown>>

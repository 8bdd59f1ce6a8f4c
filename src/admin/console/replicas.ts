/** The other replicas, by the reports that they exchange through Redis. */
import { Type } from 'typebox'
import type { LocalState } from '../../core/cache-index.ts'
import { validatorOf } from '../validation.ts'
import type { JoinedResponse, NodeSummary, Rates, ReplicaSummary } from './node-types.ts'

/** Writes the report of this replica and returns those of the others. Undefined if Redis is unreachable. */
export type ExchangeReports = (
  report: string,
) => Promise<readonly { readonly text: string; readonly ago: number }[] | undefined>

/** What this replica reports. */
export interface ReplicaSelf {
  readonly name: string
  readonly version: string
  ready(): boolean
  /** The contact of this replica with the nodes, from which the others conclude whether a replica is cut off. */
  contact(): Pick<ReplicaSummary, 'reachedAgo' | 'cutOff' | 'failing' | 'answered'>
  rates(): Rates
  /** Returns the state of its local tier; undefined if nothing is stored. */
  local(): LocalState | undefined
  nodes(): readonly Pick<NodeSummary, 'name' | 'state' | 'inFlight' | 'limit'>[]
  joined(): readonly JoinedResponse[]
  /** The list of nodes that one replica reads for all: what this replica has read, and where those of others go. */
  readonly nodeList: {
    lastRead(): unknown
    /** Checks the list. `ago`: milliseconds since it was published. */
    offer(list: unknown, ago: number): void
  }
  /** What this replica saw of incidents, and where the reports of others go. Undefined: Redis is unreachable. */
  readonly incidents: Exchanged
  /** What its requests cost. */
  readonly costs: Exchanged
  /** Digests of its settings. */
  readonly settings: Exchanged
  /** What the advice is based on. */
  readonly advice: Exchanged
}

interface Exchanged {
  report(): unknown
  offer(reports: readonly unknown[] | undefined): void
}

export interface Replicas {
  /** Returns undefined while Redis is unreachable. */
  others(): readonly ReplicaSummary[] | undefined
  /** Exchanges reports now, and not only with the next interval. */
  publish(): void
  stop(): void
}

const REPORT_INTERVAL_MS = 2000
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

/** The part of a report for incidents: two of them, each with a few callers. */
const MAX_INCIDENTS_CHARS = 4096
const MAX_COSTS_CHARS = 16_384
const MAX_SETTINGS_CHARS = 8192
/** The part of a report for the counts of the advice. */
const MAX_ADVICE_CHARS = 6144

const MAX_NODES = 200

const number = Type.Number()
const optionalNumber = Type.Optional(Type.Number())
const text = Type.String({ maxLength: 300 })
const nodePart = Type.Object({
  node: text,
  rows: optionalNumber,
  total: optionalNumber,
  ms: optionalNumber,
  error: Type.Optional(text),
  errorKind: Type.Optional(Type.Enum(['failed', 'answered', 'knownLimit'])),
})
const latestCalls = Type.Optional(Type.Array(Type.Object({ node: text, ago: number }), { maxItems: MAX_NODES }))
/** Other programs may write to this Redis, so a report is validated before it is used. */
const reportSchema = Type.Object({
  name: text,
  version: text,
  ready: Type.Boolean(),
  reachedAgo: optionalNumber,
  cutOff: Type.Optional(Type.Boolean()),
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
  nodes: Type.Array(Type.Object({ name: text, state: text, inFlight: number, limit: number }), { maxItems: MAX_NODES }),
  // Checked by the room that uses it.
  nodeList: Type.Optional(Type.Unknown()),
  // Checked by `incidents.ts`: a form of another version must not make the whole report invalid.
  incidents: Type.Optional(Type.Unknown()),
  costs: Type.Optional(Type.Unknown()),
  settings: Type.Optional(Type.Unknown()),
  advice: Type.Optional(Type.Unknown()),
  joined: Type.Optional(Type.Array(Type.Object({ ago: number, route: text, ms: number, nodes: Type.Array(nodePart) }))),
})
const isReport = validatorOf(reportSchema)

/** `interval`: milliseconds between two reports. */
export function createReplicas(
  self: ReplicaSelf,
  exchange: ExchangeReports,
  interval: number = REPORT_INTERVAL_MS,
): Replicas {
  let others: readonly ReplicaSummary[] | undefined
  let isExchanging = false
  const update = async (): Promise<void> => {
    if (isExchanging) return
    isExchanging = true
    const reports = await exchange(reportOf(self)).catch(() => undefined)
    isExchanging = false
    const parsed = reports?.flatMap(({ text, ago }) => parseReport(text, ago))
    others = parsed?.map(({ summary }) => summary).sort((a, b) => (a.name < b.name ? -1 : 1))
    self.incidents.offer(parsed?.map(({ incidents }) => incidents))
    self.costs.offer(parsed?.map(({ costs }) => costs))
    self.settings.offer(parsed?.map(({ settings }) => settings))
    self.advice.offer(parsed?.map(({ advice }) => advice))
    for (const { summary, nodeList } of parsed ?? [])
      if (nodeList !== undefined) self.nodeList.offer(nodeList, summary.ago)
  }
  const timer = setInterval(() => void update(), interval)
  timer.unref()
  void update()
  return { others: () => others, publish: () => void update(), stop: () => clearInterval(timer) }
}

function reportOf({
  name,
  version,
  ready,
  contact,
  rates,
  local,
  nodes,
  joined,
  nodeList,
  incidents,
  costs,
  settings,
  advice,
}: ReplicaSelf): string {
  const { failing, answered, ...reached } = contact()
  const head = { name, version, ready: ready(), ...reached, rates: rates(), local: local() }
  const take = takeInto(MAX_REPORT_CHARS - MAX_NAMES_CHARS - JSON.stringify(head).length)
  const nodeStates = nodes().map(({ name, state, inFlight, limit }) => ({ name, state, inFlight, limit }))
  // The most important parts first: each may use what those before it have left.
  const [shownNodes, failed, reachable] = [
    take(nodeStates.slice(0, MAX_NODES), MAX_NODES_CHARS),
    take(wholeTimes(failing), MAX_CALLS_CHARS),
    take(wholeTimes(answered), MAX_CALLS_CHARS),
  ]
  const [list] = take([nodeList.lastRead() ?? null], MAX_NODE_LIST_CHARS)
  const [shared] = take([settings.report()], MAX_SETTINGS_CHARS)
  const [seen] = take([incidents.report()], MAX_INCIDENTS_CHARS)
  const [spent] = take([costs.report()], MAX_COSTS_CHARS)
  const [counted] = take([advice.report()], MAX_ADVICE_CHARS)
  return JSON.stringify({
    ...head,
    ...(failing && { failing: failed }),
    ...(answered && { answered: reachable }),
    nodes: shownNodes,
    joined: take(joined(), MAX_JOINED_CHARS),
    ...(list && { nodeList: list }),
    ...(seen !== undefined && { incidents: seen }),
    ...(spent !== undefined && { costs: spent }),
    ...(shared !== undefined && { settings: shared }),
    ...(counted !== undefined && { advice: counted }),
  })
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

interface ParsedReport {
  readonly summary: ReplicaSummary
  readonly nodeList: unknown
  readonly incidents: unknown
  readonly costs: unknown
  readonly settings: unknown
  readonly advice: unknown
}

/** Returns an empty list if the report is not valid. */
function parseReport(text: string, ago: number): ParsedReport[] {
  if (text.length > MAX_REPORT_CHARS) return []
  try {
    const value: unknown = JSON.parse(text)
    if (!isReport(value)) return []
    const { nodeList, incidents, costs, settings, advice, ...report } = value as Omit<ReplicaSummary, 'ago'> &
      Omit<ParsedReport, 'summary'>
    const joined = report.joined?.map((each) => ({ ...each, ago: each.ago + ago }))
    return [{ summary: { ...report, ago, ...(joined && { joined }) }, nodeList, incidents, costs, settings, advice }]
  } catch {
    return []
  }
}

/** The other replicas, by the reports that they exchange through Redis. */
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { JoinedResponse, NodeSummary, Rates, ReplicaSummary } from './api-types.ts'

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
  contact(): Pick<ReplicaSummary, 'reachedAgo' | 'cutOff'>
  rates(): Rates
  nodes(): readonly Pick<NodeSummary, 'name' | 'state' | 'inFlight' | 'limit'>[]
  joined(): readonly JoinedResponse[]
}

export interface Replicas {
  /** Returns undefined while Redis is unreachable. */
  others(): readonly ReplicaSummary[] | undefined
  stop(): void
}

const REPORT_INTERVAL_MS = 2000
const MAX_REPORT_CHARS = 32_768
/** The part of a report for joined responses, which are long if a cluster has many nodes. */
const MAX_JOINED_CHARS = 8192

const number = Type.Number()
const optionalNumber = Type.Optional(Type.Number())
const text = Type.String({ maxLength: 300 })
const nodePart = Type.Object({
  node: text,
  rows: optionalNumber,
  total: optionalNumber,
  ms: optionalNumber,
  error: Type.Optional(text),
})
/** Other programs may write to this Redis, so a report is validated before it is used. */
const reportSchema = Type.Object({
  name: text,
  version: text,
  ready: Type.Boolean(),
  reachedAgo: optionalNumber,
  cutOff: Type.Optional(Type.Boolean()),
  rates: Type.Object({
    perSecond: number,
    callsPerSecond: number,
    savedPerSecond: number,
    failuresPerSecond: number,
    hitRatio: optionalNumber,
    p50: optionalNumber,
    p99: optionalNumber,
  }),
  nodes: Type.Array(Type.Object({ name: text, state: text, inFlight: number, limit: number }), { maxItems: 200 }),
  joined: Type.Optional(Type.Array(Type.Object({ ago: number, route: text, ms: number, nodes: Type.Array(nodePart) }))),
})

export function createReplicas(self: ReplicaSelf, exchange: ExchangeReports): Replicas {
  let others: readonly ReplicaSummary[] | undefined
  let isExchanging = false
  const update = async (): Promise<void> => {
    if (isExchanging) return
    isExchanging = true
    const reports = await exchange(reportOf(self)).catch(() => undefined)
    isExchanging = false
    others = reports?.flatMap(({ text, ago }) => parseReport(text, ago)).sort((a, b) => (a.name < b.name ? -1 : 1))
  }
  const timer = setInterval(() => void update(), REPORT_INTERVAL_MS)
  timer.unref()
  void update()
  return { others: () => others, stop: () => clearInterval(timer) }
}

function reportOf({ name, version, ready, contact, rates, nodes, joined }: ReplicaSelf): string {
  const nodeStates = nodes().map((node) => {
    const { name, state, inFlight, limit } = node
    return { name, state, inFlight, limit }
  })
  const newest = takeUpTo(joined(), MAX_JOINED_CHARS)
  return JSON.stringify({
    name,
    version,
    ready: ready(),
    ...contact(),
    rates: rates(),
    nodes: nodeStates,
    joined: newest,
  })
}

/** Returns the first responses whose JSON has at most `maxChars` characters. */
function takeUpTo(responses: readonly JoinedResponse[], maxChars: number): readonly JoinedResponse[] {
  let left = maxChars
  return responses.filter((response) => {
    left -= JSON.stringify(response).length
    return left >= 0
  })
}

/** Returns an empty list if the report is not valid. */
function parseReport(text: string, ago: number): ReplicaSummary[] {
  if (text.length > MAX_REPORT_CHARS) return []
  try {
    const value: unknown = JSON.parse(text)
    if (!Value.Check(reportSchema, value)) return []
    const report = value as Omit<ReplicaSummary, 'ago'>
    const joined = report.joined?.map((each) => ({ ...each, ago: each.ago + ago }))
    return [{ ...report, ago, ...(joined && { joined }) }]
  } catch {
    return []
  }
}

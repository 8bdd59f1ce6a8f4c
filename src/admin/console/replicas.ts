/** The other replicas, by what they tell of themselves through the Redis that all share. */
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { JoinedLine, NodeLine, Rates, ReplicaLine } from './api-types.ts'

/** Writes the text of this replica and gives those of the others; undefined: nobody can be told. */
export type TellReplicas = (
  text: string,
) => Promise<readonly { readonly text: string; readonly ago: number }[] | undefined>

export interface ReplicaSelf {
  readonly name: string
  readonly version: string
  ready(): boolean
  rates(): Rates
  nodes(): readonly Pick<NodeLine, 'name' | 'state' | 'inFlight' | 'limit'>[]
  joined(): readonly JoinedLine[]
}

export interface Replicas {
  /** Undefined: Redis does not answer. */
  others(): readonly ReplicaLine[] | undefined
  stop(): void
}

const EVERY = 2000
const LONGEST = 32_768
/** Of that for joined answers, which are long where there are many nodes. */
const FOR_JOINED = 8192

const rate = Type.Number()
const maybe = Type.Optional(Type.Number())
const word = Type.String({ maxLength: 300 })
const share = Type.Object({ node: word, rows: maybe, total: maybe, ms: maybe, error: Type.Optional(word) })
/** What stands in Redis was written by a replica, or by somebody else: nothing of it is believed unseen. */
const line = Type.Object({
  name: word,
  version: word,
  ready: Type.Boolean(),
  rates: Type.Object({
    perSecond: rate,
    callsPerSecond: rate,
    savedPerSecond: rate,
    failuresPerSecond: rate,
    hitRatio: maybe,
    p50: maybe,
    p99: maybe,
  }),
  nodes: Type.Array(Type.Object({ name: word, state: word, inFlight: rate, limit: rate }), { maxItems: 200 }),
  joined: Type.Optional(Type.Array(Type.Object({ ago: rate, route: word, ms: rate, nodes: Type.Array(share) }))),
})

export function createReplicas(self: ReplicaSelf, tell: TellReplicas): Replicas {
  let heard: readonly ReplicaLine[] | undefined
  let asking = false
  const exchange = async (): Promise<void> => {
    if (asking) return
    asking = true
    const told = await tell(textOf(self)).catch(() => undefined)
    asking = false
    heard = told?.flatMap(({ text, ago }) => read(text, ago)).sort((a, b) => (a.name < b.name ? -1 : 1))
  }
  const timer = setInterval(() => void exchange(), EVERY)
  timer.unref()
  void exchange()
  return { others: () => heard, stop: () => clearInterval(timer) }
}

function textOf({ name, version, ready, rates, nodes, joined }: ReplicaSelf): string {
  const short = nodes().map((node) => {
    const { name, state, inFlight, limit } = node
    return { name, state, inFlight, limit }
  })
  const newest = fitting(joined(), FOR_JOINED)
  return JSON.stringify({ name, version, ready: ready(), rates: rates(), nodes: short, joined: newest })
}

/** The first of them, as many as there is room for. */
function fitting(lines: readonly JoinedLine[], room: number): readonly JoinedLine[] {
  let left = room
  return lines.filter((line) => {
    left -= JSON.stringify(line).length
    return left >= 0
  })
}

function read(text: string, ago: number): ReplicaLine[] {
  if (text.length > LONGEST) return []
  try {
    const value: unknown = JSON.parse(text)
    if (!Value.Check(line, value)) return []
    const told = value as Omit<ReplicaLine, 'ago'>
    const joined = told.joined?.map((each) => ({ ...each, ago: each.ago + ago }))
    return [{ ...told, ago, ...(joined && { joined }) }]
  } catch {
    return []
  }
}

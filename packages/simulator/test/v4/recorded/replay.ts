/** Replays the recorded exchanges of the v4 contract against simulated clusters. */
import { type ContractExchange, isCut, recordedContract } from '../../../../../test/contract/v4-contract/exchanges.ts'
import type { Simulator } from '../../../src/index.ts'
import type { V4Reply } from '../ask.ts'
import { createAccounts, type RecordedUser } from './accounts.ts'
import { createClient } from './client.ts'
import { compareOutcome, contentOf, shapeOf } from './compare.ts'
import { type RecordedCluster, startRecordedCluster } from './world.ts'

export interface Difference {
  readonly line: number
  readonly operation: string
  readonly request: string
  readonly texts: readonly string[]
}

export interface Replayed {
  readonly exchanges: number
  readonly differences: readonly Difference[]
  /** Unexpected exceptions of the simulator. */
  readonly thrown: readonly unknown[]
}

/** What was recorded, and of which cluster. */
export interface Recording {
  readonly exchanges: readonly ContractExchange[]
  /** The users of the cluster until a line of the recording. */
  readonly parts: readonly { readonly until: number; readonly users: readonly RecordedUser[] }[]
  readonly cluster?: RecordedCluster
  /** Called before each exchange, for what happened to the cluster. */
  prepare?(exchange: ContractExchange, simulator: Simulator): Promise<void>
  /** Starts what the client asks in place of the nodes. Resolves to its URL. */
  front?(simulator: Simulator): Promise<string>
}

/** The first lines were recorded when the cluster had other users. */
const PARTS = [
  {
    until: 64,
    users: [
      { id: 100, username: 'edge', roles: [100] },
      { id: 101, username: 'edgeread', roles: [101] },
      { id: 102, username: 'anna', roles: [103] },
      { id: 103, username: 'benn', roles: [104] },
      { id: 104, username: 'nobody4', roles: [105] },
      { id: 105, username: 'chief', roles: [100, 1] },
      { id: 106, username: 'reader1', roles: [4] },
    ],
  },
  { until: Number.POSITIVE_INFINITY, users: [{ id: 100, username: 'reader1', roles: [4] }] },
]

/** Milliseconds between two exchanges: changes end tokens that were issued in earlier seconds. */
const PACE_MS = 150

/** Calls whose items and totals follow from the requests alone. */
const DETERMINISTIC = /^(?:GET|POST|PUT|DELETE) \/(?:security|(?:experimental\/)?(?:syscollector|ciscat))\//

const RELEASES_4: Recording = { exchanges: recordedContract(), parts: PARTS }

export async function replay(recording: Recording = RELEASES_4): Promise<Replayed> {
  const { exchanges, parts, cluster, prepare } = recording
  const differences: Difference[] = []
  const thrown: unknown[] = []
  let from = 0
  for (const { until, users } of parts) {
    const part = exchanges.filter(({ line }) => line > from && line <= until)
    from = until
    let now = Date.now()
    const simulator = await startRecordedCluster(exchanges, () => new Date(now), cluster)
    try {
      await createAccounts(simulator, exchanges, users)
      const passTime = () => {
        now += 1
      }
      const client = createClient(simulator, passTime, await recording.front?.(simulator))
      for (const exchange of part) {
        const { line, operation, request } = exchange
        now += PACE_MS
        await prepare?.(exchange, simulator)
        const texts = compare(exchange, await client.ask(exchange))
        if (texts.length === 0) continue
        differences.push({ line, operation: operation ?? '-', request: `${request.method} ${request.path}`, texts })
      }
    } finally {
      await simulator.close()
    }
    thrown.push(...simulator.thrown)
  }
  return { exchanges: exchanges.length, differences, thrown }
}

function compare(exchange: ContractExchange, simulated: V4Reply) {
  const texts = compareOutcome(exchange, simulated)
  const { response, request } = exchange
  if (texts.length > 0 || response.status !== 200 || isCut(response.body)) return texts
  const [recorded, found] = [shapeOf(response.body), shapeOf(simulated.text)]
  const missing = [...recorded].filter((member) => !found.has(member))
  const extra = [...found].filter((member) => !recorded.has(member))
  if (missing.length > 0) texts.push(`missing: ${missing.join(' ')}`)
  if (extra.length > 0) texts.push(`extra: ${extra.join(' ')}`)
  if (DETERMINISTIC.test(`${request.method} ${request.path}`) && !request.path.includes('authenticate')) {
    const [expected, actual] = [contentOf(response.body), contentOf(simulated.text)]
    if (expected !== actual) texts.push(`content: ${expected.slice(0, 300)} != ${actual.slice(0, 300)}`)
  }
  return texts
}

/** Sends all recorded requests of one kind to an edge, and returns what differs from the recording. */
import { type Difference, differenceOf } from './differences.ts'
import { type Outcome, startEdgeAndNode } from './edge-and-node.ts'
import { type ContractExchange, isRefusal, nameOf, recordedExchanges } from './exchanges.ts'
import { differencesOfPassedOn, differencesOfRepetition } from './passed-on.ts'
import { differencesOfRefusal } from './refused.ts'

export interface ReplayResult {
  readonly name: string
  readonly line: number
  readonly differences: readonly string[]
}

/** Requests that the manager refuses before it does anything. `release`: of the nodes. Absent: the recorded one. */
export async function replayRefusals(
  compare = differencesOfRefusal,
  release?: string,
): Promise<readonly ReplayResult[]> {
  const edge = await startEdgeAndNode(release)
  try {
    const results: ReplayResult[] = []
    for (const exchange of recordedExchanges().filter(isRefusal)) {
      results.push(resultOf(exchange, compare(exchange, await edge.send(exchange))))
    }
    return results
  } finally {
    await edge.close()
  }
}

/** Requests that the manager carries out. Reads are sent twice. */
export async function replayPassedOn(): Promise<readonly ReplayResult[]> {
  const edge = await startEdgeAndNode()
  try {
    const results: ReplayResult[] = []
    for (const exchange of recordedExchanges().filter((one) => !isRefusal(one))) {
      await edge.clear()
      const outcome = await edge.send(exchange)
      const intended = differenceOf(exchange)
      const differences = intended ? differencesOfIntended(intended, outcome) : differencesOfPassedOn(exchange, outcome)
      const isRead = exchange.request.method === 'GET' && intended === undefined
      const repeated = isRead ? differencesOfRepetition(exchange, await edge.send(exchange)) : []
      results.push(resultOf(exchange, [...differences, ...repeated]))
    }
    return results
  } finally {
    await edge.close()
  }
}

function differencesOfIntended({ status }: Difference, outcome: Outcome): readonly string[] {
  const isIntended = outcome.status === status && outcome.calls.length === 0
  return isIntended
    ? []
    : [`status ${outcome.status} and ${outcome.calls.length} calls instead of ${status} without any`]
}

function resultOf(exchange: ContractExchange, differences: readonly string[]): ReplayResult {
  return { name: nameOf(exchange), line: exchange.line, differences }
}

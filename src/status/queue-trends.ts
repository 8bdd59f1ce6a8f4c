/** Which queues of nodes grow: compares the lengths of the last ten seconds. */
import type { GrowingQueue } from './problem-types.ts'

interface Trend {
  /** Lengths of the last samples, oldest first. */
  readonly lengths: number[]
  /** Length before the growth that was found; absent while the queue does not grow. */
  from?: number
}

type QueueLengths = () => readonly { readonly name: string; readonly queue: number }[]

const SAMPLE_INTERVAL_MS = 1000
const SAMPLES = 10
/** Growth from the first to the second half of the samples. Smaller changes are usual under a steady load. */
const MIN_GROWTH = 1.25

/** Samples the queues each second until `stop`. Nodes that are not listed any more are forgotten. */
export class QueueTrends {
  #trends = new Map<string, Trend>()
  readonly #timer: NodeJS.Timeout

  constructor(nodes: QueueLengths) {
    const sample = () => {
      this.#trends = new Map(nodes().map(({ name, queue }) => [name, advance(this.#trends.get(name), queue)]))
    }
    this.#timer = setInterval(sample, SAMPLE_INTERVAL_MS).unref()
  }

  readonly growing = (): GrowingQueue[] =>
    [...this.#trends].flatMap(([node, { lengths, from }]) =>
      from === undefined ? [] : [{ node, from, to: lengths.at(-1) ?? 0 }],
    )

  stop(): void {
    clearInterval(this.#timer)
  }
}

/**
 * A queue grows if it was never empty in all samples and its second half is longer on average. The growth is over when
 * the queue has at most the length from before. So a queue that stays long after it grew is still reported.
 */
function advance({ lengths: before, from }: Trend = { lengths: [] }, queue: number): Trend {
  const lengths = [...before, queue].slice(-SAMPLES)
  if (from !== undefined) return queue <= from ? { lengths } : { lengths, from }
  if (lengths.length < SAMPLES || lengths.includes(0)) return { lengths }
  const half = SAMPLES / 2
  const [first, second] = [sum(lengths.slice(0, half)), sum(lengths.slice(half))]
  return second >= first * MIN_GROWTH && queue > (lengths[0] ?? 0) ? { lengths, from: lengths[0] ?? 0 } : { lengths }
}

function sum(values: readonly number[]): number {
  return values.reduce((all, each) => all + each, 0)
}

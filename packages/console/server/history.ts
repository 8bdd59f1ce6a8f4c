/** The history of the console: the rates of the last hour, of this replica and of what the others have reported meanwhile. */
import { systemClock } from '../../../src/core/timing.ts'
import { HistoryEvents, HOUR_MS } from './history-events.ts'
import type { History, HistoryQuery, Range } from './history-types.ts'
import type { Rates, ReportedReplica } from './node-types.ts'
import { RATES_PERIOD_MS, sumRates } from './traffic.ts'

type ReplicaRates = Pick<ReportedReplica, 'name' | 'rates'>

export interface HistoryOptions {
  /** Name of this replica. */
  readonly name: string
  /** Returns the rates of the last ten seconds. */
  readonly rates: () => Rates
  /** Returns undefined while Redis is unreachable. Absent: replicas share nothing. */
  readonly others?: (() => readonly ReplicaRates[] | undefined) | undefined
  /** Monotonic milliseconds. */
  readonly clock?: () => number
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

/** The rates of all replicas in one interval. */
interface Sample {
  /** The number of intervals that have ended then. */
  readonly end: number
  readonly replicas: readonly ReplicaRates[]
  readonly isRedisUnreachable: boolean
}

const INTERVAL_MS = RATES_PERIOD_MS
/** How often this process looks whether an interval has ended. */
const UPDATE_INTERVAL_MS = 1000
const POINTS: Readonly<Record<Range, number>> = { '5m': 30, '15m': 90, '1h': HOUR_MS / INTERVAL_MS }
/** Of one sample. */
const MAX_REPLICAS = 100

export class ConsoleHistory extends HistoryEvents {
  readonly #options: HistoryOptions
  readonly #clock: () => number
  readonly #now: () => number
  readonly #timer: NodeJS.Timeout
  /** Oldest first. */
  readonly #samples: Sample[] = []
  #sampledEnd: number

  constructor(options: HistoryOptions) {
    const { name, clock = systemClock.elapsed, now = Date.now } = options
    super(name, now)
    this.#options = options
    this.#clock = clock
    this.#now = now
    this.#sampledEnd = this.#end()
    this.#timer = setInterval(() => this.update(), UPDATE_INTERVAL_MS).unref()
  }

  /** Takes a sample if an interval has ended. */
  update(): void {
    const end = this.#end()
    if (end === this.#sampledEnd) return
    this.#sampledEnd = end
    const { name, rates, others } = this.#options
    const known = others?.()
    const replicas = [{ name, rates: rates() }, ...(known ?? []).slice(0, MAX_REPLICAS).map(ratesOf)]
    this.#samples.push({ end, replicas, isRedisUnreachable: others !== undefined && known === undefined })
    while ((this.#samples[0]?.end ?? end) <= end - POINTS['1h']) this.#samples.shift()
  }

  /** Returns the sum of all replicas, or one replica by its name. */
  read({ range = this.#fittingRange(), replica }: HistoryQuery): History {
    this.update()
    const end = this.#end()
    const points = POINTS[range]
    const samples = this.#samples.filter((sample) => sample.end > end - points)
    const byEnd = new Map(samples.map((sample) => [sample.end, sample]))
    const ends = Array.from({ length: points }, (_, at) => end - points + 1 + at)
    const rates = ends.map((each) => {
      const shown = byEnd.get(each)?.replicas.filter(({ name }) => replica === undefined || name === replica) ?? []
      return shown.length === 0 ? undefined : sumRates(shown.map((each) => each.rates))
    })
    const column = (name: keyof Rates) => rates.map((each) => each?.[name] ?? null)
    const start = this.#now() - this.#clock()
    const isPartial = samples.some(({ isRedisUnreachable }) => isRedisUnreachable)
    const { name, others } = this.#options
    return {
      range,
      interval: INTERVAL_MS,
      at: ends.map((each) => Math.round((start + each * INTERVAL_MS) / 1000)),
      perSecond: column('perSecond'),
      hitRatio: column('hitRatio'),
      p50: column('p50'),
      p99: column('p99'),
      callsPerSecond: column('callsPerSecond'),
      savedPerSecond: column('savedPerSecond'),
      failuresPerSecond: column('failuresPerSecond'),
      ...(replica !== undefined && { replica }),
      replicas: [...new Set([name, ...samples.flatMap(({ replicas }) => replicas.map((each) => each.name))])].sort(),
      self: name,
      source: others === undefined ? 'memory' : isPartial ? 'unreachable' : 'redis',
      events: this.since(start + (end - points) * INTERVAL_MS),
    }
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #end(): number {
    return Math.floor(this.#clock() / INTERVAL_MS)
  }

  #fittingRange(): Range {
    const [first] = this.#samples
    const points = first === undefined ? 0 : this.#end() - first.end + 1
    return points <= POINTS['5m'] ? '5m' : points <= POINTS['15m'] ? '15m' : '1h'
  }
}

function ratesOf({ name, rates }: ReplicaRates): ReplicaRates {
  return { name, rates }
}

/** The other replicas, by the reports that they exchange through Redis. */
import type { ReplicaSummary } from './node-types.ts'
import {
  EXCHANGED_NAMES,
  type Exchanged,
  formatReport,
  type ReplicaReport,
  type ReplicaSelf,
  readReport,
} from './replica-report.ts'

/** Writes the report of this replica and returns those of the others. Undefined if Redis is unreachable. */
type ExchangeReports = (
  report: string,
) => Promise<readonly { readonly text: string; readonly ago: number }[] | undefined>

export const REPORT_INTERVAL_MS = 2000

const NOTHING: Exchanged = { report: () => undefined, offer: () => undefined }
/** What a replica without a console reports. Earlier releases, and consoles, ignore a report without these rates. */
const NO_RATES = { perSecond: 0, cacheablePerSecond: 0, callsPerSecond: 0, savedPerSecond: 0, failuresPerSecond: 0 }
const NOTHING_ADDED: ReplicaReport = { rates: () => NO_RATES, joined: () => [], costs: NOTHING, events: NOTHING }

/** Exchanges reports as soon as the parts of the edge that are reported exist. */
export class Replicas {
  readonly #exchange: ExchangeReports
  readonly #interval: number
  #self: (ReplicaSelf & ReplicaReport) | undefined
  #others: readonly ReplicaSummary[] | undefined
  #isExchanging = false
  #timer: NodeJS.Timeout | undefined

  /** `interval`: milliseconds between two reports. */
  constructor(exchange: ExchangeReports, interval: number = REPORT_INTERVAL_MS) {
    this.#exchange = exchange
    this.#interval = interval
  }

  /** Reports this from now on in each interval. `publish` sends the first report, when Redis is connected. */
  report(self: ReplicaSelf): void {
    this.#self = { ...NOTHING_ADDED, ...self }
    this.#timer = setInterval(() => this.publish(), this.#interval).unref()
  }

  /** Adds what a plugin reports. */
  readonly add = (part: ReplicaReport): void => {
    if (this.#self !== undefined) Object.assign(this.#self, part)
  }

  /** Returns undefined while Redis is unreachable. */
  readonly others = (): readonly ReplicaSummary[] | undefined => this.#others

  /** Exchanges reports now, and not only with the next interval. */
  publish(): void {
    if (this.#self !== undefined && !this.#isExchanging) void this.#update(this.#self)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #update(self: ReplicaSelf & ReplicaReport): Promise<void> {
    this.#isExchanging = true
    const reports = await this.#exchange(formatReport(self)).catch(() => undefined)
    this.#isExchanging = false
    const parsed = reports?.flatMap(({ text, ago }) => readReport(text, ago))
    this.#others = parsed?.map(({ summary }) => summary).sort((a, b) => (a.name < b.name ? -1 : 1))
    for (const name of EXCHANGED_NAMES) self[name].offer(parsed?.map(({ exchanged }) => exchanged[name]))
    for (const { summary, nodeList } of parsed ?? [])
      if (nodeList !== undefined) self.nodeList.offer(nodeList, summary.ago)
  }
}

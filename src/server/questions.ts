/** Answers what a process asks about all of them: their metrics, and a request that another one has served. */
import { withTimeout } from '../core/timing.ts'
import { createMetricsSum, type MetricFamily, type ProcessMetrics } from '../telemetry/metrics/sum.ts'
import type { Answers, Question } from './messages.ts'
import { isReady, type Slot } from './slot.ts'

/** Time for the answers of all processes; Prometheus gives up after ten seconds by default. */
const LIMIT_MS = 2000

export class Questions {
  readonly #slots: readonly Slot[]
  readonly #restarts: () => number
  /** By the ids of workers: a process that replaces another one has another id. */
  readonly #sum = createMetricsSum()

  /** `restarts`: processes that were started because another one had ended unexpectedly. */
  constructor(slots: readonly Slot[], restarts: () => number) {
    this.#slots = slots
    this.#restarts = restarts
  }

  /** Answers a question of the process in the slot. */
  answer(asker: Slot, { name, request }: Question): Promise<Answers['sum' | 'find']> {
    return name === 'find' ? this.#find(asker, request) : this.#sumText()
  }

  receiveMetrics({ worker }: Slot, metrics: ProcessMetrics): void {
    if (worker !== undefined) this.#sum.receive(worker.id, metrics)
  }

  /** The process with this worker id has ended: its counts stay in the sum. */
  end(id: number): void {
    this.#sum.end(id)
  }

  async #find(asker: Slot, request: string): Promise<Answers['find']> {
    const others = this.#serving().filter((slot) => slot !== asker)
    const found = await Promise.all(others.map(({ calls }) => withinLimit(calls?.ask('find', request))))
    return found.find(Boolean) ?? null
  }

  /** A process that does not answer in time is left out, except for its counts. */
  async #sumText(): Promise<string> {
    const answered = new Set<number>()
    const receive = async (slot: Slot): Promise<void> => {
      const metrics = await slot.calls?.ask('metrics')
      if (metrics === undefined || slot.worker === undefined) return
      this.receiveMetrics(slot, metrics)
      answered.add(slot.worker.id)
    }
    await Promise.all(this.#serving().map((slot) => withinLimit(receive(slot))))
    return this.#sum.text(new Set(answered), this.#ownMetrics(answered.size))
  }

  #serving(): readonly Slot[] {
    return this.#slots.filter(({ phase }) => phase === 'serving')
  }

  /** Returns the metrics of the supervisor itself; those of the processes are added to them. */
  #ownMetrics(answered: number): readonly MetricFamily[] {
    const configured = this.#slots.length
    const states = Object.entries({ configured, ready: this.#slots.filter(isReady).length, answered })
    return [
      {
        name: 'edge_processes',
        help: 'Processes behind the ports; answered: those whose gauges are in this scrape.',
        type: 'gauge',
        aggregator: 'sum',
        values: states.map(([state, value]) => ({ labels: { state }, value })),
      },
      {
        name: 'edge_process_restarts_total',
        help: 'Processes that were started again after they had ended unexpectedly.',
        type: 'counter',
        aggregator: 'sum',
        values: [{ labels: {}, value: this.#restarts() }],
      },
      {
        name: 'process_start_time_seconds',
        help: 'Start time of the supervisor since unix epoch in seconds.',
        type: 'gauge',
        aggregator: 'sum',
        values: [{ labels: {}, value: performance.timeOrigin / 1000 }],
      },
    ]
  }
}

function withinLimit<T>(answer: Promise<T> | undefined): Promise<T | undefined> {
  return withTimeout(Promise.resolve(answer), LIMIT_MS, undefined)
}

/** Collects the metrics of all processes for the one that answers a scrape. */
import type { Worker } from 'node:cluster'
import { createMetricsSum, type MetricFamily, type ProcessMetrics } from '../telemetry/metrics/sum.ts'
import { Gatherer } from './gatherer.ts'

export class MetricsCollector {
  readonly #sum = createMetricsSum()
  readonly #gatherer = new Gatherer<true>()

  /** Takes the metrics of a process; `id`: the question that they answer. */
  receive(worker: number, metrics: ProcessMetrics, id: number | undefined): void {
    this.#sum.receive(worker, metrics)
    if (id !== undefined) this.#gatherer.receive(worker, id, true)
  }

  /** The process has ended: its counts stay in the sum. */
  end(worker: number): void {
    this.#sum.end(worker)
    this.#gatherer.end(worker)
  }

  /** Returns the sum. A process that does not answer in time is left out, except for its counts. */
  async text(workers: readonly Worker[], own: (answered: number) => readonly MetricFamily[]): Promise<string> {
    const answers = await this.#gatherer.ask(workers, (id) => ({ type: 'metrics', id }))
    return this.#sum.text(new Set(answers.keys()), own(answers.size))
  }
}

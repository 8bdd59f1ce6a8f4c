/** Answers what a process asks about all of them: their metrics, and a request that another one has served. */
import type { Worker } from 'node:cluster'
import type { RequestDetails } from '../admin/console/request-types.ts'
import { createMetricsSum, type MetricFamily, type ProcessMetrics } from '../telemetry/metrics/sum.ts'
import type { FromProcess, FromSupervisor } from './messages.ts'
import { isReady, type Slot, workersOf } from './slot.ts'

type Message = Extract<FromProcess, { readonly type: 'metrics' | 'sum' | 'find' | 'found' }>

export class Questions {
  readonly #slots: readonly Slot[]
  readonly #metrics = new MetricsCollector()
  readonly #lookups = new Gatherer<RequestDetails | undefined>()
  readonly #restarts: () => number

  constructor(slots: readonly Slot[], restarts: () => number) {
    this.#slots = slots
    this.#restarts = restarts
  }

  receive(worker: Worker, message: Message): void {
    if (message.type === 'metrics') this.#metrics.receive(worker.id, message.metrics, message.id)
    else if (message.type === 'found') this.#lookups.receive(worker.id, message.id, message.details)
    else if (message.type === 'find') void this.#answerFind(worker, message.id, message.request)
    else void this.#answerSum(worker, message.id)
  }

  /** The process has ended. */
  end(worker: Worker): void {
    this.#metrics.end(worker.id)
    this.#lookups.end(worker.id)
  }

  async #answerSum(worker: Worker, id: number): Promise<void> {
    const text = await this.#metrics.text(this.#serving(), (answered) =>
      supervisorMetrics({
        configured: this.#slots.length,
        ready: this.#slots.filter(isReady).length,
        answered,
        restarts: this.#restarts(),
      }),
    )
    answer(worker, { type: 'sum', id, text })
  }

  async #answerFind(worker: Worker, id: number, request: string): Promise<void> {
    const others = this.#serving().filter((each) => each !== worker)
    const found = await this.#lookups.ask(others, (question) => ({ type: 'find', id: question, request }))
    answer(worker, { type: 'found', id, details: [...found.values()].find((each) => each !== undefined) })
  }

  #serving(): readonly Worker[] {
    return workersOf(this.#slots.filter(({ phase }) => phase === 'serving'))
  }
}

function answer(worker: Worker, message: FromSupervisor): void {
  if (worker.isConnected()) worker.send(message)
}

/** Time for all answers; Prometheus gives up after ten seconds by default. */
const LIMIT_MS = 2000

interface Question<Answer> {
  readonly answers: Map<number, Answer>
  readonly missing: Set<number>
  readonly finish: () => void
}

/** Asks several processes the same question and gathers their answers. */
class Gatherer<Answer> {
  readonly #open = new Map<number, Question<Answer>>()
  #lastId = 0

  /** Resolves to the answers by the id of the worker. Those of processes that end or do not answer in time are missing. */
  async ask(
    workers: readonly Worker[],
    messageOf: (id: number) => FromSupervisor,
  ): Promise<ReadonlyMap<number, Answer>> {
    this.#lastId += 1
    const id = this.#lastId
    const answers = new Map<number, Answer>()
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LIMIT_MS)
      const finish = (): void => {
        clearTimeout(timer)
        resolve()
      }
      this.#open.set(id, { answers, missing: new Set(workers.map((worker) => worker.id)), finish })
      for (const worker of workers) worker.send(messageOf(id))
      if (workers.length === 0) finish()
    })
    this.#open.delete(id)
    return answers
  }

  /** Takes the answer of a process; one that comes too late is ignored. */
  receive(worker: number, id: number, answer: Answer): void {
    const question = this.#open.get(id)
    if (question === undefined) return
    question.answers.set(worker, answer)
    settle(question, worker)
  }

  /** The process has ended. */
  end(worker: number): void {
    for (const question of this.#open.values()) settle(question, worker)
  }
}

function settle({ missing, finish }: Question<unknown>, worker: number): void {
  missing.delete(worker)
  if (missing.size === 0) finish()
}

/** Collects the metrics of all processes for the one that answers a scrape. */
class MetricsCollector {
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

interface SupervisorCounts {
  readonly configured: number
  readonly ready: number
  /** Processes that have answered this scrape. */
  readonly answered: number
  /** Processes that were started because another one had ended unexpectedly. */
  readonly restarts: number
}

/** Returns the metrics of the supervisor itself; those of the processes are added to them. */
function supervisorMetrics({ configured, ready, answered, restarts }: SupervisorCounts): readonly MetricFamily[] {
  const states = Object.entries({ configured, ready, answered })
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
      values: [{ labels: {}, value: restarts }],
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

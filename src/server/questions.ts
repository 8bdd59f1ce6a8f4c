/** Answers what a process asks about all of them: their metrics, and a request that another one has served. */
import type { Worker } from 'node:cluster'
import type { RequestDetails } from '../admin/console/request-types.ts'
import { Gatherer } from './gatherer.ts'
import type { FromProcess, FromSupervisor } from './messages.ts'
import { MetricsCollector } from './metrics-collector.ts'
import { isReady, type Slot, workersOf } from './slot.ts'
import { supervisorMetrics } from './supervisor-metrics.ts'

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

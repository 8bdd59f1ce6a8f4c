/** Asks several processes the same question and gathers their answers. */
import type { Worker } from 'node:cluster'
import type { FromSupervisor } from './messages.ts'

/** Time for all answers; Prometheus gives up after ten seconds by default. */
const LIMIT_MS = 2000

interface Question<Answer> {
  readonly answers: Map<number, Answer>
  readonly missing: Set<number>
  readonly finish: () => void
}

export class Gatherer<Answer> {
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

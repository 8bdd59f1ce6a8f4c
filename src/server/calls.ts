/** Questions of the supervisor to a process of an edge, and of a process to the supervisor: one end of their channel. */
import type { RequestDetails } from '../admin/console/request-types.ts'
import type { ProcessMetrics } from '../telemetry/metrics/sum.ts'

/** What each question is answered with. */
export interface Answers {
  /** The metrics of the process that is asked. */
  readonly metrics: ProcessMetrics
  /** The metrics of all processes as text. */
  readonly sum: string
  /** The details of the request that the question names; `null`: there is no record of it. */
  readonly find: RequestDetails | null
}

/** `request`: the id of a request; empty for other questions than `find`. */
export interface Question {
  readonly type: 'question'
  readonly id: number
  readonly name: keyof Answers
  readonly request: string
}

export type Call = Question | { readonly type: 'answer'; readonly id: number; readonly answer: unknown }

export class Calls {
  readonly #send: (message: Call) => void
  readonly #answer: (question: Question) => Promise<unknown>
  readonly #open = new Map<number, (answer: unknown) => void>()
  #lastId = 0

  constructor(send: (message: Call) => void, answer: (question: Question) => Promise<unknown>) {
    this.#send = send
    this.#answer = answer
  }

  /** Resolves to `undefined` if the other process has ended. */
  ask<Name extends keyof Answers>(name: Name, request = ''): Promise<Answers[Name] | undefined> {
    this.#lastId += 1
    const id = this.#lastId
    return new Promise((resolve) => {
      this.#open.set(id, resolve as (answer: unknown) => void)
      this.#send({ type: 'question', id, name, request })
    })
  }

  async receive(message: Call): Promise<void> {
    const { type, id } = message
    if (type === 'question') return this.#send({ type: 'answer', id, answer: await this.#answer(message) })
    this.#open.get(id)?.(message.answer)
    this.#open.delete(id)
  }

  /** The other process has ended. */
  end(): void {
    for (const resolve of this.#open.values()) resolve(undefined)
    this.#open.clear()
  }
}

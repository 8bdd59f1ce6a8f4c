/**
 * What the supervisor and the processes of an edge send to each other (`listen.processes`), and the questions that one
 * end of their channel asks the other.
 */
import type { RequestDetails } from '../admin/console/request-types.ts'
import type { Urls } from '../app/index.ts'
import type { Config } from '../config/schema.ts'
import type { ProcessMetrics } from '../telemetry/metrics/sum.ts'

/** From a process to the supervisor. */
export type FromProcess =
  /** Messages of the supervisor are received from now on; Node discards earlier ones. */
  | { readonly type: 'attached' }
  /** All ports are open. */
  | ({ readonly type: 'listening' } & Urls)
  | ({ readonly type: 'failed' } & StartFailure)
  | ({ readonly type: 'state' } & ProcessState)
  /** The last metrics of this process, before it ends. */
  | { readonly type: 'lastMetrics'; readonly metrics: ProcessMetrics }
  | Call

/** From the supervisor to a process. */
export type FromSupervisor =
  | ({ readonly type: 'group' } & GroupState)
  | ({ readonly type: 'drain' } & DrainRequest)
  /** Reload the configuration and reopen the audit file. */
  | { readonly type: 'reload' }
  | Call

/** Why a process cannot start, and the exit code that a single process would have. */
export interface StartFailure {
  readonly reasons: readonly string[]
  readonly code: number
}

/** Sent after each change and each second, so that the supervisor finds a process that hangs. */
export interface ProcessState {
  /** Whether balancers should send requests to this process. */
  readonly ready: boolean
  /** Changed settings that take effect when this process is replaced. */
  readonly pendingRestart: readonly string[]
  /** Settings that the supervisor uses too. */
  readonly log: Config['log']
  readonly drain: Config['listen']['drain']
}

export interface GroupState {
  /** All processes have listened. */
  readonly hasStarted: boolean
  /** Number of other processes that are ready. */
  readonly othersReady: number
}

export interface DrainRequest {
  /** Milliseconds; absent: `listen.drain.delay`. */
  readonly delay?: number
  /** The other processes continue, and one takes the place of this one. */
  readonly isReplaced: boolean
}

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

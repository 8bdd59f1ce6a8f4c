/** Connects one process of an edge with the others, through the supervisor. */
import type { RequestDetails } from '../admin/console/request-types.ts'
import { NOT_READY, type Readiness } from '../admin/readiness.ts'
import type { ProcessGroup } from '../app/process.ts'
import type { ProcessMetrics } from '../telemetry/metrics/sum.ts'
import type { FromProcess, FromSupervisor, GroupState } from './messages.ts'

/** The supervisor waits two seconds for a process that hangs. */
const ANSWER_TIMEOUT_MS = 8000

type Answer = Extract<FromSupervisor, { readonly type: 'sum' | 'found' }>

export class SupervisedGroup implements ProcessGroup {
  /** This process ends together with the others. */
  isEnding = false
  readonly #send: (message: FromProcess) => Promise<void>
  /** Receive the answer of the supervisor, by the id of the question. */
  readonly #questions = new Map<number, (answer: Answer) => void>()
  #group: GroupState = { hasStarted: false, othersReady: 0 }
  #lastId = 0

  constructor(send: (message: FromProcess) => Promise<void>) {
    this.#send = send
    process.on('message', (message: FromSupervisor) => {
      if (message.type === 'group') this.#group = message
      if (message.type === 'sum' || message.type === 'found') this.#questions.get(message.id)?.(message)
    })
  }

  async metrics(): Promise<string> {
    const answer = await this.#ask((id) => ({ type: 'sum', id }))
    return answer.type === 'sum' ? answer.text : ''
  }

  async findRequest(request: string): Promise<RequestDetails | undefined> {
    const answer = await this.#ask((id) => ({ type: 'find', id, request }))
    return answer.type === 'found' ? answer.details : undefined
  }

  /**
   * One ready process is enough: the supervisor passes connections to all that listen, and while one is replaced it passes
   * them to the others.
   */
  readiness(own: Readiness): Readiness {
    const { hasStarted, othersReady } = this.#group
    if (this.isEnding) return own
    if (!hasStarted) return { ...own, ok: false, reasons: [NOT_READY.starting] }
    return own.ok || othersReady === 0 ? own : { ...own, ok: true, reasons: [] }
  }

  onClose(metrics: ProcessMetrics): Promise<void> {
    return this.#send({ type: 'metrics', metrics })
  }

  /** Rejects if the supervisor does not answer in time. */
  async #ask(messageOf: (id: number) => FromProcess): Promise<Answer> {
    this.#lastId += 1
    const id = this.#lastId
    let timer: NodeJS.Timeout | undefined
    try {
      return await new Promise<Answer>((resolve, reject) => {
        this.#questions.set(id, resolve)
        timer = setTimeout(() => reject(new Error('the supervisor did not answer')), ANSWER_TIMEOUT_MS)
        void this.#send(messageOf(id))
      })
    } finally {
      clearTimeout(timer)
      this.#questions.delete(id)
    }
  }
}

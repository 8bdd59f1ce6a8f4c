/** Connects one process of an edge with the others, through the supervisor. */
import type { RequestDetails } from '../admin/console/request-types.ts'
import { NOT_READY, type Readiness } from '../admin/readiness.ts'
import type { ProcessGroup } from '../app/process.ts'
import { withTimeout } from '../core/timing.ts'
import type { ProcessMetrics } from '../telemetry/metrics/sum.ts'
import type { Calls } from './calls.ts'
import type { FromProcess, GroupState } from './messages.ts'

/** The supervisor waits two seconds for a process that hangs. */
const ANSWER_TIMEOUT_MS = 8000

export class SupervisedGroup implements ProcessGroup {
  /** This process ends together with the others. */
  isEnding = false
  /** As the supervisor has sent it last. */
  state: GroupState = { hasStarted: false, othersReady: 0 }
  readonly #send: (message: FromProcess) => Promise<void>
  readonly #calls: Calls

  constructor(send: (message: FromProcess) => Promise<void>, calls: Calls) {
    this.#send = send
    this.#calls = calls
  }

  metrics(): Promise<string> {
    return inTime(this.#calls.ask('sum'))
  }

  async findRequest(request: string): Promise<RequestDetails | undefined> {
    return (await inTime(this.#calls.ask('find', request))) ?? undefined
  }

  /**
   * One ready process is enough: the supervisor passes connections to all that listen, and while one is replaced it passes
   * them to the others.
   */
  readiness(own: Readiness): Readiness {
    const { hasStarted, othersReady } = this.state
    if (this.isEnding) return own
    if (!hasStarted) return { ...own, ok: false, reasons: [NOT_READY.starting] }
    return own.ok || othersReady === 0 ? own : { ...own, ok: true, reasons: [] }
  }

  onClose(metrics: ProcessMetrics): Promise<void> {
    return this.#send({ type: 'lastMetrics', metrics })
  }
}

/** Rejects if the supervisor does not answer in time. */
async function inTime<T>(answer: Promise<T | undefined>): Promise<T> {
  const received = await withTimeout(answer, ANSWER_TIMEOUT_MS, undefined)
  if (received === undefined) throw new Error('the supervisor did not answer')
  return received
}

/** Replaces processes one after the other, for changed settings that take effect at the start of a process only. */
import type { Logger } from 'pino'
import { isReady, pendingSettings, type Slot } from './slot.ts'

/** A rolling restart that waits for this long is logged. */
const MAX_WAIT_SECONDS = 30

export class RollingRestart {
  #isRunning = false
  #waitSeconds = 0

  /** Returns the slot whose process is to be replaced now: the first one that is due, as soon as all processes are ready. */
  next(slots: readonly Slot[], log: Logger): Slot | undefined {
    const due = slots.find((slot) => pendingSettings(slot).length > 0)
    if (due !== undefined && !this.#isRunning) {
      this.#isRunning = true
      this.#waitSeconds = 0
      log.info({ settings: pendingSettings(due) }, 'rolling restart')
    }
    if (!this.#isRunning || !slots.every(isReady)) return undefined
    this.#waitSeconds = 0
    if (due === undefined) {
      this.#isRunning = false
      log.info('rolling restart complete')
    }
    return due
  }

  /** To be called each second. */
  tick(slots: readonly Slot[], log: Logger): void {
    if (!this.#isRunning) return
    this.#waitSeconds += 1
    if (this.#waitSeconds !== MAX_WAIT_SECONDS) return
    const unready = slots.filter((slot) => !isReady(slot)).map(({ number }) => number)
    log.warn({ unready }, 'rolling restart waits until all processes are ready')
  }
}

/** The numbered places for processes, each with the process that has it now; how their processes are replaced, and how they end. */
import type { Worker } from 'node:cluster'
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import { EXIT_CODES } from './exit.ts'
import type { Calls, DrainRequest, ProcessState, StartFailure } from './messages.ts'

/**
 * - `starting`: the process has not listened yet.
 * - `serving`: it listens.
 * - `ending`: it was asked to end.
 * - `waiting`: the process has ended; the next one starts after a delay.
 */
export type Phase = 'starting' | 'serving' | 'ending' | 'waiting'

/**
 * Seconds without a message after which a process is killed. A process that serves sends a message each second; 30 s is more
 * than a long turn of the event loop or a busy machine delays it. A process that starts sends one message when its program is
 * loaded, and the next one when it listens. A start takes about a second, and several times as long on a busy machine.
 */
const MAX_SILENT_SECONDS = { starting: 120, serving: 30 } as const
/** A process without a message for this long is not ready: no other process is replaced meanwhile. */
export const MAX_READY_SILENT_SECONDS = 5

export interface Slot {
  readonly number: number
  worker?: Worker | undefined
  /** Questions to the process. */
  calls?: Calls
  phase: Phase
  /** The last state that the process reported. */
  state?: ProcessState | undefined
  /** The message by which the process was asked to end. */
  drainRequest?: DrainRequest | undefined
  /** Why the process could not start. */
  failure?: StartFailure | undefined
  /** Milliseconds of the monotonic clock since when the process serves. */
  servingSince?: number | undefined
  /** Seconds without a message. */
  silentSeconds: number
  /** Restarts in a row, each soon after the start. */
  failures: number
  /** Starts the next process, or kills one that does not end. */
  timer?: NodeJS.Timeout | undefined
}

export function createSlot(number: number): Slot {
  return { number, phase: 'waiting', silentSeconds: 0, failures: 0 }
}

/** To be called before a process is started in the slot. */
export function beginProcess(slot: Slot): void {
  slot.worker = undefined
  slot.phase = 'starting'
  slot.silentSeconds = 0
  slot.state = undefined
  slot.drainRequest = undefined
  slot.failure = undefined
  slot.servingSince = undefined
}

const FIRST_RESTART_DELAY_MS = 100
const MAX_RESTART_DELAY_MS = 30_000
/** A process that has served for this long was started successfully. */
const GOOD_RUN_MS = 60_000

/** Returns the milliseconds until the next process starts; each failure in a row doubles them. */
export function nextRestartDelay(slot: Pick<Slot, 'failures' | 'servingSince'>, now: number): number {
  if (slot.servingSince !== undefined && now - slot.servingSince >= GOOD_RUN_MS) slot.failures = 0
  slot.failures += 1
  return Math.min(MAX_RESTART_DELAY_MS, FIRST_RESTART_DELAY_MS * 2 ** (slot.failures - 1))
}

/** This setting needs a restart of the supervisor. */
const OWN_SETTING = 'listen.processes'

/** Returns the settings that take effect when the process of the slot is replaced. */
function pendingSettings({ phase, state }: Slot): readonly string[] {
  return phase === 'serving' ? (state?.pendingRestart.filter((name) => name !== OWN_SETTING) ?? []) : []
}

/** A process that hangs does not count as ready, although its last state was. */
export function isReady({ phase, state, silentSeconds }: Slot): boolean {
  return phase === 'serving' && state?.ready === true && silentSeconds < MAX_READY_SILENT_SECONDS
}

export function workersOf(slots: readonly Slot[]): readonly Worker[] {
  return slots.flatMap(({ worker }) => (worker?.isConnected() ? [worker] : []))
}

/** To be called each second. Counts seconds instead of comparing times, because this process may be paused too. */
export function killIfSilent(slot: Slot, log: Logger): void {
  if (slot.phase !== 'starting' && slot.phase !== 'serving') return
  const { number, phase } = slot
  slot.silentSeconds += 1
  const seconds = slot.silentSeconds
  if (seconds !== MAX_SILENT_SECONDS[phase]) return
  if (phase === 'starting') {
    const reason = `process ${number} did not open its ports within ${seconds} s`
    const remedy = 'check that the machine has free cores, and that its disks and mounted folders respond'
    slot.failure = { reasons: [`manager-edge cannot start: ${reason}; ${remedy}`], code: EXIT_CODES.failed }
  }
  log.error({ number, phase, seconds }, 'process does not respond, it is killed')
  slot.worker?.process.kill('SIGKILL')
}

/** A rolling restart that waits for this long is logged. */
const MAX_WAIT_SECONDS = 30

/** Replaces processes one after the other, for changed settings that take effect at the start of a process only. */
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

/** The last messages of a process may arrive after its exit. They are read before `disconnect`, or within this time. */
const LAST_MESSAGES_MS = 200

/** Resolves to the signal, the exit code or the failed start of a process, after its last message, when its connections are closed. */
export async function endOf(worker: Worker): Promise<string> {
  const closeHandoffs = trackHandoffs(worker)
  const disconnected = new Promise<boolean>((resolve) => worker.once('disconnect', () => resolve(true)))
  const how = await new Promise<string>((resolve) => {
    worker.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
    worker.on('error', (error) => {
      // The system could not start the process, so `exit` does not follow. Other errors: a message to a dead process.
      if (worker.process.pid === undefined) resolve(error.message)
    })
  })
  const isDisconnected = await Promise.race([disconnected, wait(LAST_MESSAGES_MS, false)])
  // After a turn of the event loop: this process may have been busy, and not have read the messages yet.
  await turn()
  closeHandoffs()
  if (!isDisconnected) worker.process.emit('disconnect')
  return how
}

interface Handle {
  close?(): void
}

interface InternalMessage {
  readonly seq?: number
  readonly ack?: number
}

/**
 * Returns a function that closes the connections that the process has not taken. Node leaves a connection open until the
 * process confirms that it has taken the connection. If the process dies before, Node neither closes the connection nor
 * passes it on, so its client would wait forever. Node then also does not emit `disconnect`, with which it removes the
 * process. This function uses details of Node without documentation: the messages that pass a connection, and their
 * confirmations. If a release of Node changes them, only the connections that a dying process has not taken stay open.
 */
function trackHandoffs({ process: child }: Pick<Worker, 'process'>): () => void {
  const pending = new Map<number, Handle>()
  const send = child.send.bind(child) as (...args: unknown[]) => boolean
  const track = (message: InternalMessage, handle?: Handle, ...rest: unknown[]): boolean => {
    if (handle && message.seq !== undefined) pending.set(message.seq, handle)
    return send(message, handle, ...rest)
  }
  child.send = track as typeof child.send
  child.on('internalMessage', ({ ack }: InternalMessage) => {
    if (ack !== undefined) pending.delete(ack)
  })
  return () => {
    for (const handle of pending.values()) handle.close?.()
    pending.clear()
  }
}

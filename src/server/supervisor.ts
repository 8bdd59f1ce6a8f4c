/**
 * The first process of an edge with several processes (`listen.processes`). It serves no requests: it starts the others,
 * passes the connections to them (`node:cluster`), restarts a process that ends unexpectedly, replaces processes one after
 * the other when changed settings need it, and ends all of them gracefully.
 */
import cluster, { type Worker } from 'node:cluster'
import { hostname } from 'node:os'
import type { Urls } from '../app/index.ts'
import type { Config } from '../config/schema.ts'
import { EXIT_CODES, firstSignal } from './exit.ts'
import { SupervisorLog } from './logs.ts'
import {
  Calls,
  type DrainRequest,
  type FromProcess,
  type FromSupervisor,
  type ProcessState,
  type StartFailure,
} from './messages.ts'
import { processArguments } from './process-count.ts'
import { Questions } from './questions.ts'
import {
  beginProcess,
  createSlot,
  endOf,
  isReady,
  killIfSilent,
  nextRestartDelay,
  RollingRestart,
  type Slot,
  workersOf,
} from './slot.ts'

export interface SupervisorOptions {
  /** Number of processes. */
  readonly count: number
  /** The configuration file; absent: as for a single process. */
  readonly file: string | undefined
}

const TICK_MS = 1000
const ALL: DrainRequest = { isReplaced: false }
const SUCCESS = `exit code ${EXIT_CODES.ok}`
/** A process that ends has this long beyond `listen.drain.limit` to close its files and connections. */
const END_MARGIN_MS = 10_000

/** Runs until SIGTERM or SIGINT. Resolves to the exit code that a single process would have. */
export function supervise(config: Config, options: SupervisorOptions): Promise<number> {
  return new Promise((resolve) => new Supervisor(config, options, resolve).start())
}

class Supervisor {
  readonly #slots: readonly Slot[]
  readonly #config: Config
  readonly #options: SupervisorOptions
  readonly #onEnd: (code: number) => void
  readonly #questions: Questions
  readonly #rolling = new RollingRestart()
  readonly #log: SupervisorLog
  #drain: Config['listen']['drain']
  #phase: 'starting' | 'running' | 'ending' = 'starting'
  #exitCode: number = EXIT_CODES.ok
  #hasListened = false
  #restarts = 0
  #ticks: NodeJS.Timeout | undefined

  constructor(config: Config, options: SupervisorOptions, onEnd: (code: number) => void) {
    this.#config = config
    this.#drain = config.listen.drain
    this.#options = options
    this.#onEnd = onEnd
    this.#log = new SupervisorLog(config.log)
    this.#slots = Array.from({ length: options.count }, (_, at) => createSlot(at + 1))
    this.#questions = new Questions(this.#slots, () => this.#restarts)
  }

  start(): void {
    // The supervisor passes connections in turn. If each process accepted them, the kernel would give most of them to one.
    cluster.schedulingPolicy = cluster.SCHED_RR
    const kill = () => this.#slots.forEach(({ worker }) => void worker?.process.kill('SIGKILL'))
    void firstSignal(kill).then((signal) => this.#end(signal))
    process.on('SIGHUP', () => this.#send(this.#serving(), { type: 'reload' }))
    for (const slot of this.#slots) this.#fork(slot)
    this.#ticks = setInterval(() => {
      const ready = this.#slots.filter(isReady).length
      for (const slot of this.#slots) killIfSilent(slot, this.#log.current)
      if (this.#slots.filter(isReady).length !== ready) this.#publish()
      this.#rolling.tick(this.#slots, this.#log.current)
    }, TICK_MS)
  }

  #fork(slot: Slot): void {
    const { processes } = this.#config.listen
    const identity = { number: slot.number, edge: `${hostname()}-${process.pid}`, processes }
    const args = processArguments(identity, this.#options.file)
    cluster.setupPrimary({ exec: process.argv[1] ?? '', args })
    beginProcess(slot)
    let worker: Worker
    try {
      worker = cluster.fork()
    } catch (error) {
      // The system has no file descriptors or no memory left. As if the process had ended.
      process.nextTick(() => this.#onExit(slot, undefined, error instanceof Error ? error.message : String(error)))
      return
    }
    slot.worker = worker
    const send = (message: FromSupervisor) => void (worker.isConnected() && worker.send(message))
    const calls = new Calls(send, (question) => this.#questions.answer(slot, question))
    slot.calls = calls
    worker.on('message', (message: FromProcess) => {
      // One that arrives after the end of its process is none of the process that replaces it.
      if (slot.worker === worker) this.#receive(slot, calls, message)
    })
    void endOf(worker).then((how) => this.#onExit(slot, worker, how))
  }

  #receive(slot: Slot, calls: Calls, message: FromProcess): void {
    const wasReady = isReady(slot)
    slot.silentSeconds = 0
    if (message.type === 'attached') this.#onAttached(slot)
    else if (message.type === 'failed') slot.failure = message
    else if (message.type === 'listening') this.#onListening(slot, message)
    else if (message.type === 'state') this.#onState(slot, message)
    else if (message.type === 'lastMetrics') this.#questions.receiveMetrics(slot, message.metrics)
    else void calls.receive(message)
    if (isReady(slot) !== wasReady) this.#publish()
  }

  #onAttached(slot: Slot): void {
    this.#publish()
    if (slot.drainRequest !== undefined) this.#send([slot], { type: 'drain', ...slot.drainRequest })
  }

  #onState(slot: Slot, state: ProcessState): void {
    slot.state = state
    this.#drain = state.drain
    this.#log.use(state.log)
    this.#roll()
  }

  #onListening(slot: Slot, { url, secondUrl, operationsUrl }: Urls): void {
    if (slot.phase === 'starting') slot.phase = 'serving'
    slot.servingSince = performance.now()
    if (this.#phase === 'starting' && this.#serving().length === this.#slots.length) {
      this.#phase = 'running'
      this.#hasListened = true
      this.#log.current.info({ operationsUrl, url, secondUrl, processes: this.#slots.length }, 'listening')
    }
    this.#publish()
  }

  #onExit(slot: Slot, worker: Worker | undefined, how: string): void {
    clearTimeout(slot.timer)
    slot.calls?.end()
    if (worker !== undefined) this.#questions.end(worker.id)
    const { number, phase, failure } = slot
    slot.worker = undefined
    slot.phase = 'waiting'
    if (this.#phase === 'ending') {
      if (how !== SUCCESS && this.#exitCode === EXIT_CODES.ok) this.#exitCode = EXIT_CODES.failed
      this.#finishIfEnded()
    } else if (this.#phase === 'starting') {
      const reasons = [`manager-edge cannot start: process ${number} ended with ${how} before it was ready`]
      this.#fail(failure ?? { reasons, code: EXIT_CODES.failed })
    } else if (phase === 'ending') {
      this.#fork(slot)
    } else {
      this.#publish()
      const delay = nextRestartDelay(slot, performance.now())
      this.#restarts += 1
      const reasons = failure === undefined ? {} : { reasons: failure.reasons }
      const fields = { number, pid: worker?.process.pid, how, ...reasons, delay }
      this.#log.current.error(fields, 'process ended, another one starts')
      slot.timer = setTimeout(() => this.#fork(slot), delay)
    }
  }

  #roll(): void {
    if (this.#phase !== 'running') return
    const due = this.#rolling.next(this.#slots, this.#log.current)
    if (due !== undefined) this.#endProcess(due, { isReplaced: true })
  }

  /** Ends all processes because of a signal. */
  #end(signal: NodeJS.Signals): void {
    if (this.#phase === 'ending') return
    const { delay } = this.#drain
    this.#log.current.info({ signal, delay }, 'draining')
    this.#endAll(this.#phase === 'starting' ? { ...ALL, delay: 0 } : ALL)
  }

  /** One process cannot start, so the edge cannot start. The first reason is enough: the others have the same one. */
  #fail({ reasons, code }: StartFailure): void {
    this.#exitCode = code
    for (const reason of reasons) process.stderr.write(`${reason}\n`)
    this.#endAll({ ...ALL, delay: 0 })
  }

  #endAll(request: DrainRequest): void {
    this.#phase = 'ending'
    for (const slot of this.#slots) {
      clearTimeout(slot.timer)
      if (slot.worker !== undefined) this.#endProcess(slot, request)
    }
    this.#finishIfEnded()
  }

  #endProcess(slot: Slot, request: DrainRequest): void {
    slot.phase = 'ending'
    slot.drainRequest = request
    this.#publish()
    this.#send([slot], { type: 'drain', ...request })
    slot.timer = setTimeout(() => {
      this.#log.current.error({ number: slot.number }, 'process does not end, it is killed')
      slot.worker?.process.kill('SIGKILL')
    }, this.#drain.limit + END_MARGIN_MS)
  }

  #finishIfEnded(): void {
    if (this.#slots.some(({ worker }) => worker !== undefined)) return
    clearInterval(this.#ticks)
    if (this.#hasListened) this.#log.current.info({ cut: this.#exitCode !== EXIT_CODES.ok }, 'ended')
    this.#onEnd(this.#exitCode)
  }

  /** Sends each process how many of the others are ready. */
  #publish(): void {
    const ready = this.#slots.filter(isReady).length
    const hasStarted = this.#phase !== 'starting'
    for (const slot of this.#slots) {
      this.#send([slot], { type: 'group', hasStarted, othersReady: ready - Number(isReady(slot)) })
    }
  }

  #send(slots: readonly Slot[], message: FromSupervisor): void {
    for (const worker of workersOf(slots)) worker.send(message)
  }

  #serving(): readonly Slot[] {
    return this.#slots.filter(({ phase }) => phase === 'serving')
  }
}

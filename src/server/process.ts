/**
 * One of several processes of an edge (`listen.processes`): the same edge as a single process, and a replica as any other.
 * The supervisor starts it and sends it messages in place of the signals that a single process receives.
 */
import cluster from 'node:cluster'
import type { RequestDetails } from '../admin/console/request-types.ts'
import { NOT_READY, type Readiness } from '../admin/readiness.ts'
import { buildEdge, type Edge } from '../app/index.ts'
import { type ProcessGroup, replicaNameOf } from '../app/process.ts'
import { type LoadResult, loadConfig } from '../config/index.ts'
import { withTimeout } from '../core/timing.ts'
import type { ProcessMetrics } from '../telemetry/metrics/sum.ts'
import { describeStartError, EXIT_CODES, endDuringStart, guardProcess, reloadAll } from './exit.ts'
import { createProcessLog } from './logs.ts'
import {
  Calls,
  type DrainRequest,
  type FromProcess,
  type FromSupervisor,
  type GroupState,
  type ProcessState,
  type StartFailure,
} from './messages.ts'
import { configOfProcess, type ProcessIdentity } from './process-count.ts'

/** Milliseconds between two comparisons of the state with the one that the supervisor knows. */
const STATE_CHECK_INTERVAL_MS = 200
/** The state is sent at least this often. */
const STATE_INTERVAL_MS = 1000

/** Runs until the supervisor ends it, and ends the process. */
export async function runProcess(file: string | undefined, identity: ProcessIdentity): Promise<void> {
  // A terminal and a service manager send signals to all processes. Only the supervisor acts on them.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
  process.exit(await run(() => load(file, identity), identity))
}

async function run(loadOwn: () => Promise<LoadResult>, { number }: ProcessIdentity): Promise<number> {
  let edge: Edge
  const calls = new Calls(
    (message) => void send(message),
    async ({ name, request }) => (name === 'find' ? (edge.requestDetails(request) ?? null) : edge.metrics()),
  )
  const group = new SupervisedGroup(calls)
  process.on('message', (message: FromSupervisor) => {
    if (message.type === 'group') group.state = message
    if (message.type === 'reload') void reloadAll(edge)
    if (message.type === 'question' || message.type === 'answer') void calls.receive(message)
  })
  const ending = drainRequest()
  // Without a supervisor Node opens no port and reports no error, so the start would never end.
  const onStartOver = endDuringStart(ending)
  await send({ type: 'attached' })
  const loaded = await loadOwn()
  if (!loaded.ok) return fail({ reasons: loaded.faults, code: EXIT_CODES.configuration })
  const { config } = loaded
  try {
    const logTo = createProcessLog(config.log.format, number)
    edge = await buildEdge(config, { ...loaded, load: loadOwn, logTo, processGroup: group })
    guardProcess(edge)
    const urls = await edge.start()
    onStartOver()
    edge.log.info({ replica: replicaNameOf(config) }, 'process listening')
    await send({ type: 'listening', ...urls })
  } catch (error) {
    onStartOver()
    const reason = `manager-edge cannot start: ${describeStartError(error, config)}`
    return fail({ reasons: [reason], code: EXIT_CODES.failed })
  }
  const reports = startReports(edge)
  const { isReplaced, delay = edge.config().listen.drain.delay } = await ending
  group.isEnding = !isReplaced
  edge.log.info({ delay }, 'process draining')
  const isComplete = await edge.drain(delay, { isPortShared: isReplaced })
  clearInterval(reports)
  edge.log.info({ cut: !isComplete }, 'process ended')
  return isComplete ? EXIT_CODES.ok : EXIT_CODES.failed
}

/** Warnings about settings are the same in all processes, so the first one logs them. */
async function load(file: string | undefined, identity: ProcessIdentity): Promise<LoadResult> {
  const loaded = await loadConfig({ file })
  if (!loaded.ok) return loaded
  const warnings = identity.number === 1 ? loaded.warnings : []
  return { ...loaded, warnings, config: configOfProcess(loaded.config, identity) }
}

async function fail(failure: StartFailure): Promise<number> {
  await send({ type: 'failed', ...failure })
  return failure.code
}

/** Resolves when the supervisor asks this process to end, or has ended itself. */
function drainRequest(): Promise<DrainRequest> {
  return new Promise((resolve) => {
    process.on('message', (message: FromSupervisor) => {
      if (message.type === 'drain') resolve(message)
    })
    cluster.worker?.on('disconnect', () => {
      // Otherwise Node ends the process now, and the requests in flight with it.
      if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
      resolve({ delay: 0, isReplaced: false })
    })
  })
}

/** Sends the state of the edge to the supervisor from now on. */
function startReports(edge: Edge): NodeJS.Timeout {
  let last = ''
  let sentAt = 0
  const report = (): void => {
    const { listen, log } = edge.config()
    const state: ProcessState = {
      ready: edge.ready().ok,
      pendingRestart: edge.reloadStatus().pendingRestart,
      log,
      drain: listen.drain,
    }
    const text = JSON.stringify(state)
    if (text === last && performance.now() - sentAt < STATE_INTERVAL_MS) return
    last = text
    sentAt = performance.now()
    void send({ type: 'state', ...state })
  }
  report()
  return setInterval(report, STATE_CHECK_INTERVAL_MS)
}

/** Resolves when the message is sent, or the supervisor has ended. */
function send(message: FromProcess): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send?.(message, () => resolve())
    else resolve()
  })
}

/** The supervisor waits two seconds for a process that hangs. */
const ANSWER_TIMEOUT_MS = 8000

/** Connects this process with the others, through the supervisor. */
class SupervisedGroup implements ProcessGroup {
  /** This process ends together with the others. */
  isEnding = false
  /** As the supervisor has sent it last. */
  state: GroupState = { hasStarted: false, othersReady: 0 }
  readonly #calls: Calls

  constructor(calls: Calls) {
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
    return send({ type: 'lastMetrics', metrics })
  }
}

/** Rejects if the supervisor does not answer in time. */
async function inTime<T>(answer: Promise<T | undefined>): Promise<T> {
  const received = await withTimeout(answer, ANSWER_TIMEOUT_MS, undefined)
  if (received === undefined) throw new Error('the supervisor did not answer')
  return received
}

/** Workers that run test files of the suite, and the processes that the files start. */
import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { createMeter, end, endAll, processesWith, runningWith, type StartedProcess, setMark } from './processes.ts'
import type { EndOfFile, Failure, FileToRun, Report } from './worker.ts'

/** Modules and compiled code of earlier files stay in memory. A worker with more than this ends. */
const MAX_RSS_BYTES = 1e9
const POLL_INTERVAL_MS = 50
const SAMPLE_INTERVAL_MS = 1000

export interface FileResult {
  readonly name: string
  readonly seconds: number
  /** CPU time of the file and of all processes that it started. */
  readonly cpuSeconds: number
  readonly passed: number
  readonly failures: readonly Failure[]
}

export interface PoolOptions extends Pick<ForkOptions, 'execArgv' | 'env'> {
  /** The script of the workers. */
  readonly script: string
  /** The longest time without a result of a test. */
  readonly timeoutMs: number
  /** How long a file may take to close what is open after its last test, such as sockets and processes. */
  readonly closeTimeoutMs: number
}

interface Worker {
  readonly child: ChildProcess
  readonly mark: string | undefined
  readonly meter: ReturnType<typeof createMeter>
  /** The file that runs, and its CPU time so far. */
  file?: string | undefined
  cpuSeconds: number
}

export class Pool {
  /** CPU time of this process and of all others with its mark. */
  cpuSeconds = 0
  readonly #mark: string | undefined
  readonly #options: PoolOptions
  readonly #meter = createMeter()
  readonly #workers: Worker[] = []
  readonly #idle: Worker[] = []
  /** The file that ran when a process was seen first, by the id of the process. */
  #starters = new Map<number, string | undefined>()

  constructor(mark: string | undefined, options: PoolOptions) {
    this.#mark = mark
    this.#options = options
    // The time of a browser would be lost: its processes end together, and do not wait for each other.
    setInterval(() => this.#sample(), SAMPLE_INTERVAL_MS).unref()
  }

  /** Runs a file in a worker that is free, or else in a new one. The worker ends if the file failed or left something behind. */
  async run(file: FileToRun): Promise<FileResult> {
    const { name, isAlone } = file
    this.#sample()
    while (this.#idle.at(-1)?.child.connected === false) this.#idle.pop()
    const worker = (isAlone ? undefined : this.#idle.pop()) ?? (await this.#start())
    const { child } = worker
    Object.assign(worker, { file: name, cpuSeconds: 0 })
    const started = performance.now()
    const { failures, passed, rssBytes } = await this.#runIn(child, file)
    const seconds = (performance.now() - started) / 1000
    // A process that the files of a worker share is a child of the worker, and ends with it.
    const isLeft = ({ pid, parent }: StartedProcess) => pid !== child.pid && parent !== child.pid
    const left = child.connected ? await this.#endLeft(() => runningWith(worker.mark).filter(isLeft)) : []
    if (!child.connected) endAll(worker.mark)
    worker.file = undefined
    const isReusable = failures.length + left.length === 0 && !isAlone && rssBytes < MAX_RSS_BYTES
    if (isReusable) this.#idle.push(worker)
    else if (child.connected) child.disconnect()
    return { name, seconds, cpuSeconds: worker.cpuSeconds, passed, failures: [...failures, ...left] }
  }

  /** Ends the workers, and the processes that still run then. Returns a failure for each of these. */
  async close(): Promise<Failure[]> {
    for (const { child } of this.#idle) if (child.connected) child.disconnect()
    return this.#endLeft(() => runningWith(this.#mark))
  }

  async #start(): Promise<Worker> {
    const { script, execArgv, env } = this.#options
    // A separate session: a signal of the terminal does not reach the worker.
    const child = fork(script, { execArgv, env, detached: true, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const mark = this.#mark && `${this.#mark}${String(this.#workers.length + 1).padStart(3, '0')}`
    const worker = { child, mark, meter: createMeter(), cpuSeconds: 0 }
    this.#workers.push(worker)
    if (mark !== undefined) await setMark(child.pid ?? 0, mark)
    return worker
  }

  /** Resolves at the end of the file, or of its process. */
  #runIn(child: ChildProcess, file: FileToRun): Promise<EndOfFile> {
    const { timeoutMs, closeTimeoutMs } = this.#options
    return new Promise((resolve) => {
      const failures: Failure[] = []
      let test = file.name
      let how = ''
      const limit = setTimeout(() => {
        how = `no result for ${timeoutMs} ms: `
        child.kill('SIGKILL')
      }, timeoutMs)
      const finish = (end: EndOfFile) => {
        clearTimeout(limit)
        child.removeAllListeners()
        resolve({ ...end, failures: [...failures, ...end.failures] })
      }
      child.on('message', (report: Report) => {
        limit.refresh()
        if ('test' in report) test = report.test
        if ('failure' in report) failures.push(report.failure)
        if ('end' in report) finish(report.end)
      })
      // The messages come before the disconnection.
      void Promise.all([once(child, 'exit'), once(child, 'disconnect')]).then(([[code, signal]]) => {
        const message = `${how}the process ended ${signal === null ? `with exit code ${code}` : `by ${signal}`}`
        finish({ passed: 0, failures: [{ test, diagnostics: { message } }], rssBytes: 0 })
      })
      child.send({ ...file, closeTimeoutMs })
    })
  }

  /** Ends the processes that still run after a time. Returns a failure for each. */
  async #endLeft(find: () => readonly StartedProcess[]): Promise<Failure[]> {
    const until = performance.now() + this.#options.closeTimeoutMs
    while (find().length > 0 && performance.now() < until) await delay(POLL_INTERVAL_MS)
    this.#sample()
    return find().map((each) => ({ test: `${this.#starters.get(each.pid)} > left a process running: ${end(each)}` }))
  }

  /** Adds the CPU time since the last call to the files that run. */
  #sample(): void {
    const all = processesWith(this.#mark)
    this.cpuSeconds += this.#meter(all)
    const before = this.#starters
    this.#starters = new Map()
    for (const worker of this.#workers) {
      const own = all.filter(({ mark }) => worker.mark !== undefined && mark.startsWith(worker.mark))
      worker.cpuSeconds += worker.meter(own)
      for (const { pid } of own) this.#starters.set(pid, before.get(pid) ?? worker.file)
    }
  }
}

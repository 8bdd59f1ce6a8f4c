/** Workers that run test files of the suite, and the processes that the files start. */
import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { createMeter, end, processesWith, type StartedProcess, setMark } from './processes.ts'
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
  /** The mark of this process and of all others of the run; none if the system has no marks. */
  readonly mark: string | undefined
}

export interface Pool {
  /** Runs a file in a worker that is free, or else in a new one. The worker ends if the file failed or left something behind. */
  run(file: FileToRun): Promise<FileResult>
  /** CPU time of this process and of all others of the run. */
  cpuSeconds(): number
  /** Ends the workers, and the processes that still run then. Returns a failure for each of these. */
  close(patienceMs: number): Promise<Failure[]>
}

interface Worker {
  readonly child: ChildProcess
  readonly mark: string | undefined
  readonly meter: ReturnType<typeof createMeter>
  /** The file that runs, and its CPU time so far. */
  file?: FileToRun | undefined
  cpuSeconds: number
}

export function createPool({ script, mark, ...options }: PoolOptions): Pool {
  const idle: Worker[] = []
  const workers: Worker[] = []
  const meter = createMeter()
  let cpuSeconds = 0
  /** The file that ran when a process was seen first, by the id of the process. */
  let starters = new Map<number, string | undefined>()

  /** Adds the CPU time since the last call to the files that run. */
  function sample(): void {
    const all = processesWith(mark)
    cpuSeconds += meter(all)
    const before = starters
    starters = new Map()
    for (const worker of workers) {
      const own = all.filter((each) => worker.mark !== undefined && each.mark.startsWith(worker.mark))
      worker.cpuSeconds += worker.meter(own)
      for (const { pid } of own) starters.set(pid, before.get(pid) ?? worker.file?.name)
    }
  }

  // The time of a browser would be lost: its processes end together, and do not wait for each other.
  setInterval(sample, SAMPLE_INTERVAL_MS).unref()

  async function start(): Promise<Worker> {
    // A session of its own: a signal of the terminal does not reach the worker.
    const child = fork(script, { ...options, detached: true, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const own = mark && `${mark}${String(workers.length + 1).padStart(3, '0')}`
    const worker = { child, mark: own, meter: createMeter(), cpuSeconds: 0 }
    workers.push(worker)
    if (own !== undefined) await setMark(child.pid ?? 0, own)
    return worker
  }

  /** Ends the processes that still run after a time. Returns a failure for each. */
  async function endLeft(find: () => readonly StartedProcess[], patienceMs: number): Promise<Failure[]> {
    const until = performance.now() + patienceMs
    while (find().length > 0 && performance.now() < until) await delay(POLL_INTERVAL_MS)
    sample()
    return find().map((each) => ({ test: `${starters.get(each.pid)} > left a process running: ${end(each)}` }))
  }

  return {
    cpuSeconds: () => cpuSeconds,
    run: async (file) => {
      sample()
      while (idle.at(-1)?.child.connected === false) idle.pop()
      const worker: Worker = (file.isAlone ? undefined : idle.pop()) ?? (await start())
      const { child } = worker
      Object.assign(worker, { file, cpuSeconds: 0 })
      const started = performance.now()
      const { failures, passed, rssBytes } = await runIn(child, file)
      const seconds = (performance.now() - started) / 1000
      // A process that the files of a worker share is a child of the worker, and ends with it.
      const isLeft = (each: StartedProcess) => !child.connected || (each.pid !== child.pid && each.parent !== child.pid)
      const find = () => processesWith(worker.mark).filter(isLeft)
      const all = [...failures, ...(await endLeft(find, child.connected ? file.closeTimeoutMs : 0))]
      worker.file = undefined
      if (all.length === 0 && !file.isAlone && rssBytes < MAX_RSS_BYTES) idle.push(worker)
      else if (child.connected) child.disconnect()
      return { name: file.name, seconds, cpuSeconds: worker.cpuSeconds, passed, failures: all }
    },
    close: async (patienceMs) => {
      const connected = idle.filter(({ child }) => child.connected)
      const ended = connected.map(({ child }) => once(child, 'exit'))
      for (const { child } of connected) child.disconnect()
      await Promise.all(ended)
      return endLeft(() => processesWith(mark).filter(({ pid }) => pid !== process.pid), patienceMs)
    },
  }
}

/** Resolves at the end of the file, or of its process. */
function runIn(child: ChildProcess, file: FileToRun): Promise<EndOfFile> {
  return new Promise((resolve) => {
    const failures: Failure[] = []
    let test = file.name
    // A worker reports every second, and ends a file itself at its limit, unless its event loop is blocked.
    const blocked = setTimeout(() => child.kill('SIGKILL'), file.timeoutMs + file.closeTimeoutMs)
    const finish = (end: EndOfFile) => {
      clearTimeout(blocked)
      child.removeAllListeners()
      resolve({ ...end, failures: [...failures, ...end.failures] })
    }
    child.on('message', (report: Report) => {
      blocked.refresh()
      if ('test' in report) test = report.test
      if ('failure' in report) failures.push(report.failure)
      if ('end' in report) finish(report.end)
    })
    // The messages come before the disconnection.
    void Promise.all([once(child, 'exit'), once(child, 'disconnect')]).then(([[code, signal]]) => {
      const message = `the process ended ${signal === null ? `with exit code ${code}` : `by ${signal}`}`
      finish({ passed: 0, failures: [{ test, diagnostics: { message } }], rssBytes: 0 })
    })
    child.send(file)
  })
}

/** Workers that run test files of the suite, and the place of such a file in the report. */
import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { Base, Spawn, type Test } from 'tap'
import type { Schedule } from './schedule.ts'
import type { EndOfFile, FileToRun, Report } from './worker.ts'

/** Modules and compiled code of earlier files stay in memory. A worker with more than this ends. */
const MAX_RSS_BYTES = 1e9

export interface Pool {
  /** Runs a file in a free worker. The process ends with the file if the file failed or left something behind. */
  readonly run: (file: FileToRun, to: Listener) => void
  readonly close: () => void
}

interface Listener {
  readonly tap: (text: string) => void
  /** The end of the file, or the exit code or signal of its process. */
  readonly end: (end: EndOfFile | { readonly exit: number | string }) => void
  readonly isOk: () => boolean
}

/** Workers start when a file finds none that is free. */
export function createPool(script: string, { execArgv, env }: Pick<ForkOptions, 'execArgv' | 'env'>): Pool {
  const idle: ChildProcess[] = []
  const start = () => fork(script, { execArgv, env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  return {
    run: (file, { tap, end, isOk }) => {
      const worker = idle.pop() ?? start()
      // A file ends itself at its limit, unless its event loop is blocked.
      const blocked = setTimeout(() => worker.kill('SIGKILL'), file.timeoutMs + 2 * file.closeTimeoutMs)
      const finish = (message: Parameters<typeof end>[0]) => {
        clearTimeout(blocked)
        worker.removeAllListeners()
        end(message)
      }
      worker.on('message', (message: Report) => {
        if ('tap' in message) tap(message.tap)
        // tap itself sends messages too.
        if (!('leftovers' in message)) return
        finish(message)
        if (isOk() && message.rssBytes < MAX_RSS_BYTES) idle.push(worker)
        else worker.disconnect()
      })
      worker.on('exit', (code, signal) => finish({ exit: signal ?? code ?? 1 }))
      worker.send(file)
    },
    close: () => {
      for (const worker of idle) worker.disconnect()
    },
  }
}

/** Adds a file to the report, as `t.spawn` does for a process. It starts when the schedule lets it. */
export function runInPool(
  t: Test,
  pool: Pool,
  file: FileToRun,
  schedule: Schedule,
  onCpu: (seconds: number) => void = () => {},
): void {
  class PooledFile extends Base {
    override main(done: () => void): void {
      startScheduled(this, schedule, () => this.#run(done))
    }

    #run(done: () => void): void {
      pool.run(file, {
        tap: (text) => void this.parser.write(text),
        end: (end) => {
          this.parser.end()
          const isOver = 'leftovers' in end
          if (isOver) onCpu(end.cpuSeconds)
          if (!isOver || end.leftovers.length > 0) this.#fail(isOver ? { leftovers: end.leftovers } : end)
          schedule.end(file.name)
          done()
        },
        isOk: () => this.results?.ok === true,
      })
    }

    #fail(diagnostics: object): void {
      Object.assign(this.options, diagnostics)
      this.parser.ok = false
      if (this.results) this.results.ok = false
    }
  }
  t.sub(PooledFile, { name: file.name, buffered: true }, runInPool)
}

/** Adds a file that has a process of its own. The options are those of `t.spawn`. */
export function runAlone(t: Test, options: ConstructorParameters<typeof Spawn>[0], schedule: Schedule): void {
  class SeparateFile extends Spawn {
    override main(done: () => void): void {
      const ended = () => {
        schedule.end(this.name)
        done()
      }
      startScheduled(this, schedule, () => super.main(ended))
    }
  }
  t.sub(SeparateFile, { ...options, buffered: true }, runAlone)
}

/** The time of a file begins with its start; without this, with the start of the run. */
function startScheduled(file: Base, schedule: Schedule, start: () => void): void {
  schedule.add(file.name, () => {
    file.start = process.hrtime.bigint()
    start()
  })
}

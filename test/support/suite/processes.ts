/**
 * Finds every process that a run of the suite has started, also daemons and those whose parent has ended. The processes have a
 * mark, which they inherit and keep: the soft limit of file locks, which Linux stores for each process and does not enforce.
 * Redis and Chromium overwrite their environment, and a daemon leaves its session.
 */
import { execFile } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'

/** Linux counts the times of /proc in hundredths of a second. */
const TICKS_PER_SECOND = 100

export interface StartedProcess {
  readonly pid: number
  readonly parent: number
  readonly mark: string
  /** Whether it has ended, and its parent has not learned of it. Then its CPU time is not yet in that of its parent. */
  readonly isZombie: boolean
  /** CPU time of the process and of its child processes that have ended. */
  readonly cpuSeconds: number
}

/** Marks a process and those that it will start. Returns false if the system has no program `prlimit`. */
export function setMark(pid: number, mark: string): Promise<boolean> {
  return promisify(execFile)('prlimit', [`--pid=${pid}`, `--locks=${mark}:`]).then(
    () => true,
    () => false,
  )
}

/** Marks this process, in addition to the mark that it may have. Returns the mark; none on systems without. */
export async function markThisProcess(): Promise<string | undefined> {
  const inherited = process.platform === 'linux' ? markOf('self') : undefined
  const mark = inherited === undefined ? `${randomInt(100_000, 1_000_000)}` : `${inherited}${randomInt(100, 1000)}`
  return (await setMark(process.pid, mark)) ? mark : undefined
}

function markOf(pid: string): string | undefined {
  return /^Max file locks +(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'latin1'))?.[1]
}

/** Returns the other processes that run, and whose mark begins with this one. */
export function runningWith(mark: string | undefined): StartedProcess[] {
  return processesWith(mark).filter(({ pid, isZombie }) => pid !== process.pid && !isZombie)
}

/** Returns all processes whose mark begins with this one. */
export function processesWith(mark: string | undefined): StartedProcess[] {
  if (mark === undefined) return []
  return readdirSync('/proc').flatMap((name) => {
    try {
      const found = /^\d+$/.test(name) ? readProcess(name) : undefined
      return found?.mark.startsWith(mark) ? [found] : []
    } catch {
      // The process has ended meanwhile.
      return []
    }
  })
}

/** The fields are those of https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html. */
function readProcess(pid: string): StartedProcess | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const [state, parent, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // Threads of the kernel are children of process 2.
  const mark = parent === '2' ? undefined : markOf(pid)
  if (mark === undefined) return
  const ticks = fields.slice(9, 13).reduce((sum, each) => sum + Number(each), 0)
  const cpuSeconds = ticks / TICKS_PER_SECOND
  return { pid: Number(pid), parent: Number(parent), mark, isZombie: state === 'Z', cpuSeconds }
}

/** Sends SIGKILL. Returns the command line of the process. */
export function end({ pid }: Pick<StartedProcess, 'pid'>): string {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
    process.kill(pid, 'SIGKILL')
    return command
  } catch {
    return 'a process that has ended meanwhile'
  }
}

/** A process that has received SIGKILL needs a moment to end. */
const MAX_ROUNDS = 100

/** Ends all other processes whose mark begins with this one, with those that they start meanwhile. Returns their number. */
export function endAll(mark: string | undefined): number {
  const ended = new Set<number>()
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const others = runningWith(mark)
    if (others.length === 0) break
    for (const each of others) end(each)
    for (const { pid } of others) ended.add(pid)
  }
  return ended.size
}

const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

/** Lets a signal end this process and all others with its mark. */
export function endWithSignals(mark: string | undefined): void {
  for (const [signal, code] of Object.entries(EXIT_CODES)) {
    process.once(signal, () => {
      console.log(`${signal} ends the run and ${endAll(mark)} processes`)
      process.exit(code)
    })
  }
}

/**
 * Returns a function that returns the CPU time of a group of processes since its last call. The time of an ended process is in that
 * of its parent, unless the parent did not wait for it. Then the sum decreases, which does not count.
 */
export function createMeter(): (processes: readonly StartedProcess[]) => number {
  let before = 0
  return (processes) => {
    const now = processes.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)
    const increase = Math.max(0, now - before)
    before = now
    return increase
  }
}

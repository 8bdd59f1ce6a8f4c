/**
 * Measures how long the processes of a check were ready to run and had no processor, because other processes of the
 * machine used all cores. The kernel counts this time for each process (Linux, /proc/PID/schedstat). It is no property of
 * the edge, so it is subtracted from measured times.
 */
import { readFileSync } from 'node:fs'

export interface StarvationMeter {
  /** Returns the milliseconds between two times of `performance.now()` in which one of the processes had no processor. */
  within(begin: number, end: number): number
  close(): Promise<void>
}

export interface Watched {
  /** May change when the process is restarted. */
  readonly pid: number
}

const INTERVAL_MS = 20
const NANOSECONDS_PER_MS = 1_000_000

/** Returns the milliseconds since its start in which the process was ready to run and did not; 0 if unknown. */
function waitedOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / NANOSECONDS_PER_MS
  } catch {
    return 0
  }
}

/** Watches these processes until it is closed. */
export function watchStarvation(processes: readonly Watched[]): StarvationMeter {
  const times = [performance.now()]
  /** Sums up to each of the times. */
  const sums = [0]
  let last = new Map<number, number>()
  const read = () => {
    const now = performance.now()
    const elapsed = now - (times.at(-1) ?? now)
    let waited = 0
    const next = new Map<number, number>()
    for (const { pid } of processes) {
      const total = waitedOf(pid)
      waited = Math.max(waited, total - (last.get(pid) ?? total))
      next.set(pid, total)
    }
    last = next
    times.push(now)
    // Processes that wait at the same time delay a request once.
    sums.push((sums.at(-1) ?? 0) + Math.min(elapsed, waited))
  }
  read()
  const timer = setInterval(read, INTERVAL_MS)
  const sumAt = (time: number): number => interpolate(times, sums, time)
  return {
    within: (begin, end) => {
      if (end > (times.at(-1) ?? 0)) read()
      return sumAt(end) - sumAt(begin)
    },
    close: async () => clearInterval(timer),
  }
}

/** Returns the value at `x` of the line through the points, whose `xs` increase. */
function interpolate(xs: readonly number[], ys: readonly number[], x: number): number {
  let [low, high] = [0, xs.length - 1]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((xs[middle] ?? 0) <= x) low = middle
    else high = middle
  }
  const [x0 = 0, x1 = 0, y0 = 0, y1 = 0] = [xs[low], xs[high], ys[low], ys[high]]
  if (x <= x0 || x1 === x0) return y0
  return x >= x1 ? y1 : y0 + ((y1 - y0) * (x - x0)) / (x1 - x0)
}

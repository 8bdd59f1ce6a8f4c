/** What a check of a promise is: it runs with the options of the run and returns figures, each with its limit. */
import { createRandom, type Random } from '../coherence/random.ts'
import { type StarvationMeter, type Watched, watchStarvation } from './starvation.ts'

export interface Figure {
  readonly name: string
  readonly value: string
  readonly limit: string
  readonly pass: boolean
  /**
   * `effect`: proves that the fault took place. Without it, the other figures prove nothing.
   * `machine`: proves that the machine left enough processor time for the other figures.
   */
  readonly kind: 'figure' | 'effect' | 'machine'
}

export interface FaultPromise {
  /** As in the table of promises: `R7`. */
  readonly id: string
  readonly title: string
  /** The defect of a planted run, in which at least one figure must fail. */
  readonly planted: string
  run(context: RunContext): Promise<readonly Figure[]>
}

const BUSY_FACTOR = 3

/** If the processes had no processor for a greater share of the time, too little is left after its subtraction. */
const MAX_STARVED_SHARE = 0.6

/** Beyond this p99 without a fault, limits relative to it mean nothing. */
const MAX_BASE_P99_MS = 250

/** Thrown by a check that cannot run on this machine. */
export class NotRun extends Error {}

export interface RunOptions {
  /** Factor of all durations and counts: 1 for the figures of documents, less for a short form. */
  readonly scale: number
  /** Requests per second of the loads. */
  readonly rate: number
  readonly seed: number
  /** The defect is planted: faults are not injected, or something that keeps the promise is left out. */
  readonly planted?: boolean
  /** Milliseconds. Not 0: the cores may be busy, so every limit of time is three times as long plus this allowance. */
  readonly allowance?: number
}

export interface RunContext extends Required<RunOptions> {
  readonly random: Random
  /** Returns a duration in milliseconds by the scale, but at least `least`. */
  duration(ms: number, least?: number): number
  /** Returns a number of operations by the scale, but at least `least`. */
  count(n: number, least?: number): number
  /** Runs the fault, except in a planted run. */
  inject(fault: () => unknown): Promise<void>
  /** Closes the part at the end of the run, in reverse order. */
  keep<T extends { close(): Promise<unknown> }>(part: T): T
  /** Watches these processes and this one, which sends the loads, until the end of the run. */
  meter(...processes: readonly Watched[]): StarvationMeter
  /** Throws `NotRun` if the p99 without a fault, in milliseconds, shows that this machine is too busy for the rate. */
  requireCalm(p99: number): void
  /** A figure in milliseconds. */
  within(name: string, ms: number, limit: number): Figure
}

export function figure(name: string, value: number | string, limit: string, pass: boolean): Figure {
  return { name, value: String(value), limit, pass, kind: 'figure' }
}

/** The list must be empty. Its first entry is part of the figure. */
export function none(name: string, found: readonly string[]): Figure {
  const [first] = found
  // A cell of the table is one line.
  const text = first?.replace(/\s+/g, ' ').slice(0, 160)
  return figure(name, text === undefined ? '0' : `${found.length}: ${text}`, '0', found.length === 0)
}

/** Fails with "fault not effective" if the fault had no effect. */
export function effect(name: string, value: number | string, happened: boolean): Figure {
  return {
    name,
    value: happened ? String(value) : `fault not effective: ${value}`,
    limit: 'seen',
    pass: happened,
    kind: 'effect',
  }
}

/** Runs one promise and closes everything that it started. */
export async function runPromise(promise: FaultPromise, options: RunOptions): Promise<readonly Figure[]> {
  const parts: { close(): Promise<unknown> }[] = []
  const { planted = false, allowance = 0, scale } = options
  const began = performance.now()
  const meters: StarvationMeter[] = []
  const keep = <T extends { close(): Promise<unknown> }>(part: T): T => {
    parts.push(part)
    return part
  }
  const context: RunContext = {
    ...options,
    planted,
    allowance,
    random: createRandom(options.seed),
    duration: (ms, least = 0) => Math.max(least, ms * scale),
    count: (n, least = 1) => Math.max(least, Math.round(n * scale)),
    inject: async (fault) => {
      if (!planted) await fault()
    },
    keep,
    meter: (...processes) => {
      const meter = keep(watchStarvation([process, ...processes]))
      meters.push(meter)
      return meter
    },
    requireCalm: (p99) => {
      if (p99 <= MAX_BASE_P99_MS + allowance) return
      throw new NotRun(`p99 without a fault is ${p99.toFixed(0)} ms: this machine is too busy for this --rate`)
    },
    within: (name, ms, limit) => {
      const allowed = limit * (allowance > 0 ? BUSY_FACTOR : 1) + allowance
      return figure(name, `${ms.toFixed(1)} ms`, `≤ ${allowed.toFixed(0)} ms`, ms <= allowed)
    },
  }
  try {
    const figures = await promise.run(context)
    const isMeasured = meters.length > 0 && !planted && allowance === 0
    return isMeasured ? [...figures, starvedShare(meters, began)] : figures
  } finally {
    for (const part of parts.reverse()) await part.close()
  }
}

function starvedShare(meters: readonly StarvationMeter[], began: number): Figure {
  const now = performance.now()
  const share = Math.max(...meters.map((meter) => meter.within(began, now) / (now - began)))
  const percent = (value: number) => `${(100 * value).toFixed(0)} %`
  return {
    name: 'time without a processor, not counted above',
    value: percent(share),
    limit: `≤ ${percent(MAX_STARVED_SHARE)}`,
    pass: share <= MAX_STARVED_SHARE,
    kind: 'machine',
  }
}

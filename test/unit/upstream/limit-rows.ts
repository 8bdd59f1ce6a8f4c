/**
 * Managers of known speed, each with clients that always wait for a response, in virtual time: what the limiter makes of
 * a manager, beside the same limiter with a limit that never changes. `npm run bench:limits` prints the rows.
 */
import { mock } from 'node:test'
import { CallLimit } from '../../../src/upstream/call-limit.ts'
import type { LimitedCall } from '../../../src/upstream/flows.ts'
import { Agenda, createLimiter, deadlineIn, settled } from './limiter-simulation.ts'

/** `steady`: each call needs the time of its endpoint. The others differ from it in one respect. */
const KINDS = {
  steady: {},
  /** The time of a call varies between 0.2 and 1.8 times that of its endpoint. */
  noise: { noise: 0.8 },
  /** All calls stand still for three of each thirty seconds. */
  pauses: { pause: 3_000 },
  /** At first, the manager is ten times as fast. */
  slowed: { before: 0.1 },
  /** Calls of one of the five endpoints never end, and need no processor. */
  stuck: { isStuck: true },
  /** The manager refuses calls beyond the third with status 503. */
  refuses: { accepts: 3 },
} as const satisfies Readonly<Record<string, Partial<Manager>>>

interface Manager {
  readonly noise: number
  readonly pause: number
  readonly before: number
  readonly isStuck: boolean
  readonly accepts: number
}

export interface Row {
  readonly kind: keyof typeof KINDS
  /** Processor time of a call in milliseconds, on average. */
  readonly time: number
  /** Calls that the manager carries out at full speed; more of them share its processors. */
  readonly workers: number
}

/** `rate`: answers per second. `wait`: milliseconds that all clients wait, for each answer: with pauses after rejections. */
export interface Outcome {
  readonly rate: number
  readonly wait: number
}

export interface RowResult extends Row {
  readonly fixed: readonly (Outcome & { readonly limit: number })[]
  readonly best: Outcome
  readonly rule: Outcome
  readonly passes: boolean
}

export const FIXED_LIMITS = [1, 2, 4, 8]
const CLIENTS = 16
const TIMEOUT_MS = 20_000
const MIN_RATE = 0.95
const MAX_WAIT = 1.2
const ENDPOINTS = ['agents', 'rules', 'logs', 'info', 'sca']

export const ROWS: readonly Row[] = (Object.keys(KINDS) as readonly Row['kind'][]).flatMap((kind) =>
  [100, 500, 2_000, 5_000].flatMap((time) => [1, 4, 8].map((workers) => ({ kind, time, workers }))),
)

/** `span`: how long each limit is measured, as a multiple of the time of `npm run bench:limits`. */
export async function compare(row: Row, span = 1): Promise<RowResult> {
  const fixed: RowResult['fixed'][number][] = []
  for (const limit of FIXED_LIMITS) fixed.push({ limit, ...(await simulateFixed(row, limit, span)) })
  const rule = await simulate(row, 8, span)
  const highest = Math.max(...fixed.map(({ rate }) => rate))
  const [best = rule] = fixed.filter(({ rate }) => rate >= highest * 0.99).sort((a, b) => a.wait - b.wait)
  const passes = rule.rate >= MIN_RATE * highest && rule.wait <= MAX_WAIT * best.wait
  return { ...row, fixed, best: { rate: highest, wait: best.wait }, rule, passes }
}

/** One simulation at a time: nothing lowers the limits of all limiters meanwhile. */
async function simulateFixed(row: Row, limit: number, span: number): Promise<Outcome> {
  const { mock: lowering } = mock.method(CallLimit.prototype, 'recordOverload', () => undefined)
  return simulate(row, limit, span).finally(() => lowering.restore())
}

/** The first quarter of the time does not count. */
async function simulate({ kind, time, workers }: Row, inFlight: number, span: number): Promise<Outcome> {
  const manager: Partial<Manager> = KINDS[kind]
  const random = createRandom()
  const end = span * (120_000 + 2_000 * time)
  const measured = end / 4
  let now = 0
  let answers = 0
  const agenda = new Agenda()
  const limiter = createLimiter(
    () => ({ inFlight, queue: 256 }),
    () => now,
  )
  const work = createProcessors(workers, manager.pause ?? 0, agenda, () => now)
  const request = async (caller: string): Promise<void> => {
    if (now >= end) return
    const endpoint = ENDPOINTS[Math.floor(random() * ENDPOINTS.length)] ?? 'logs'
    const call: LimitedCall = { priority: 'interactive', caller, endpoint }
    const deadline = deadlineIn(TIMEOUT_MS, () => now, agenda)
    const again = (pause: number) => agenda.add(now + pause + random() * 20, () => request(caller))
    const slot = await limiter.acquire(call, deadline)
    if (!slot.ok) return again(slot.retryAfter * 1000)
    const start = now
    const isEarly = now < measured / 2
    const factor = (isEarly ? (manager.before ?? 1) : 1) * (1 + (manager.noise ?? 0) * (2 * random() - 1))
    let isOver = false
    const finish = (signal: 'success' | 'failure' | 'tooMany' | 'none') => {
      if (isOver) return
      isOver = true
      limiter.release(call, start, signal)
      if (signal === 'success' && now >= measured) answers += 1
      again(signal === 'success' ? 0 : 1_000)
    }
    if (limiter.slots.taken > (manager.accepts ?? Number.POSITIVE_INFINITY)) {
      return agenda.add(now + 5, async () => finish('tooMany'))
    }
    // The manager completes a call that the edge has given up.
    if (manager.isStuck !== true || endpoint !== 'logs') {
      work.add(time * factor, () => finish('success'))
    }
    const left = deadline.remaining()
    // A call that was queued for most of its time shows nothing about the node (health.ts).
    agenda.add(now + left, async () => finish(left < TIMEOUT_MS / 2 ? 'none' : 'failure'))
  }
  for (let client = 0; client < CLIENTS; client += 1) agenda.add(random() * 100, () => request(`${client}`))
  for (let event = agenda.next(); event !== undefined && event.at < end; event = agenda.next()) {
    now = event.at
    void event.run()
    await settled()
  }
  return { rate: (answers * 1000) / (end - measured), wait: (CLIENTS * (end - measured)) / answers }
}

/** Processors that all calls share equally; one call uses one of them at most. */
function createProcessors(count: number, pause: number, agenda: Agenda, clock: () => number) {
  const jobs = new Set<{ left: number; readonly onEnd: () => void }>()
  let last = 0
  let version = 0
  /** Milliseconds without the pauses. */
  const busyTime = (at: number) => Math.floor(at / 30_000) * (30_000 - pause) + Math.min(at % 30_000, 30_000 - pause)
  const timeOf = (busy: number) => {
    const [rounds, rest] = [Math.floor(busy / (30_000 - pause)), busy % (30_000 - pause)]
    return rounds * 30_000 + rest
  }
  const advance = () => {
    const now = busyTime(clock())
    const done = (now - last) * Math.min(1, count / jobs.size)
    last = now
    for (const job of jobs) job.left -= done
  }
  const plan = () => {
    version += 1
    const planned = version
    const least = Math.min(...[...jobs].map(({ left }) => left))
    if (jobs.size === 0) return
    const at = timeOf(last + Math.max(0, least) / Math.min(1, count / jobs.size))
    agenda.add(Math.max(at, clock()), async () => {
      if (planned !== version) return
      advance()
      const ended = [...jobs].filter(({ left }) => left <= 0.001)
      for (const job of ended) jobs.delete(job)
      plan()
      for (const job of ended) job.onEnd()
    })
  }
  return {
    add(left: number, onEnd: () => void): void {
      advance()
      jobs.add({ left, onEnd })
      plan()
    },
  }
}

/** Returns the same numbers between 0 and 1 each time (mulberry32). */
function createRandom(): () => number {
  let state = 1
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

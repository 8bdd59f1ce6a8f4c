/** Asks for one URL after the other, a few at a time, and gives way whenever the edge says that it is too much. */
import type { EdgeAnswer } from './warm-client.ts'

/** `kept`: it was there already. `unkept`: answered, and not kept. */
export type Outcome = 'filled' | 'kept' | 'unkept' | 'failed'

export interface Told {
  readonly path: string
  readonly outcome: Outcome
  /** Why it failed or is not kept. */
  readonly why?: string
}

export interface WarmOptions {
  readonly get: (path: string) => Promise<EdgeAnswer>
  readonly concurrency: number
  readonly tell: (told: Told) => void
  /** A pause that the edge asked for. */
  readonly paused: (milliseconds: number) => void
  readonly sleep: (milliseconds: number) => Promise<unknown>
  readonly now: () => number
}

const TRIES = 5
const PAUSE = 1000
const LONGEST_PAUSE = 60_000

/** Thrown where no further request makes sense: nobody will be let in by asking again. */
export class Refused extends Error {}

export async function warmAll(paths: readonly string[], options: WarmOptions): Promise<void> {
  const { get, concurrency, tell, paused, sleep, now } = options
  let next = 0
  // For all workers at once: a node that is full for one of them is full for the others.
  let quietUntil = 0
  let ended = false

  const worker = async () => {
    while (!ended && next < paths.length) {
      const path = paths[next++]
      if (path === undefined) return
      tell({ path, ...(await one(path)) })
    }
  }

  const one = async (path: string): Promise<Omit<Told, 'path'>> => {
    for (let tries = 1; ; tries++) {
      while (quietUntil > now()) await sleep(quietUntil - now())
      const answer = await get(path).catch((fault: Error) => fault)
      if (answer instanceof Error) return { outcome: 'failed', why: answer.message || answer.name }
      const { status, retryAfter } = answer
      if (status === 401) throw new Refused('the edge refuses the credentials (401); nothing more was asked')
      if ((status !== 503 && status !== 429) || tries === TRIES) return judged(answer)
      const pause = Math.min(LONGEST_PAUSE, retryAfter ?? PAUSE * 2 ** tries)
      if (now() + pause > quietUntil) paused(pause)
      quietUntil = Math.max(quietUntil, now() + pause)
    }
  }

  const workers = Array.from({ length: Math.min(concurrency, paths.length) }, worker)
  try {
    await Promise.all(workers)
  } finally {
    ended = true
    await Promise.allSettled(workers)
  }
}

/** By what the edge says of its cache (RFC 9211). */
export function judged({ status, cacheStatus }: EdgeAnswer): Omit<Told, 'path'> {
  if (status !== 200) return { outcome: 'failed', why: `HTTP ${status}` }
  if (/;\s*hit\b/.test(cacheStatus)) return { outcome: 'kept' }
  if (/;\s*(?:stored|collapsed)\b/.test(cacheStatus)) return { outcome: 'filled' }
  return { outcome: 'unkept', why: cacheStatus === '' ? 'never kept' : cacheStatus }
}

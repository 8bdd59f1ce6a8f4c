/** Asks for one URL after the other, as many at a time as the pace has it, and gives way whenever the edge says that it is too much. */
import { CommandError } from './terminal.ts'
import type { EdgeAnswer } from './warm-client.ts'
import type { Pace } from './warm-pace.ts'

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
  readonly pace: Pick<Pace, 'width' | 'answered' | 'refused'>
  readonly tell: (told: Told) => void
  /** A pause that the edge asked for. */
  readonly paused: (milliseconds: number) => void
  readonly sleep: (milliseconds: number) => Promise<unknown>
  readonly now: () => number
}

interface Task {
  readonly path: string
  readonly tries: number
}

const TRIES = 5
const PAUSE = 1000
const LONGEST_PAUSE = 60_000

/** Thrown where no further request makes sense: nobody will be let in by asking again. */
export class Refused extends CommandError {
  constructor() {
    super('the edge refuses the credentials (401); nothing more was asked')
  }
}

export async function warmAll(paths: readonly string[], options: WarmOptions): Promise<void> {
  const { get, pace, tell, paused, sleep, now } = options
  const again: Task[] = []
  let begun = 0
  const take = () => again.shift() ?? (begun < paths.length ? { path: paths[begun++] ?? '', tries: 1 } : undefined)
  const underWay = new Set<Promise<void>>()
  // For all that is still to be asked: a node that is full for one request is full for the others.
  let quietUntil = 0

  const ask = async ({ path, tries }: Task): Promise<void> => {
    const answer = await get(path).catch((fault: Error) => fault)
    if (answer instanceof Error) return tell({ path, outcome: 'failed', why: answer.message || answer.name })
    const { status, retryAfter } = answer
    if (status === 401) throw new Refused()
    if (status !== 503 && status !== 429) pace.answered()
    else pace.refused()
    if ((status !== 503 && status !== 429) || tries === TRIES) return tell({ path, ...judged(answer) })
    const pause = Math.min(LONGEST_PAUSE, retryAfter ?? PAUSE * 2 ** tries)
    if (now() + pause > quietUntil) paused(pause)
    quietUntil = Math.max(quietUntil, now() + pause)
    again.push({ path, tries: tries + 1 })
  }

  try {
    while (begun < paths.length || again.length > 0 || underWay.size > 0) {
      const next = underWay.size < pace.width && quietUntil <= now() ? take() : undefined
      if (next !== undefined) {
        const over = ask(next).finally(() => underWay.delete(over))
        underWay.add(over)
      } else if (underWay.size > 0) await Promise.race(underWay)
      else await sleep(quietUntil - now())
    }
  } finally {
    await Promise.allSettled(underWay)
  }
}

/** By what the edge says of its cache (RFC 9211). `ttl` alone: it is on its way into a store that takes its time. */
export function judged({ status, cacheStatus }: EdgeAnswer): Omit<Told, 'path'> {
  if (status !== 200) return { outcome: 'failed', why: `HTTP ${status}` }
  if (/;\s*hit\b/.test(cacheStatus)) return { outcome: 'kept' }
  if (/;\s*(?:stored|collapsed|ttl=[1-9])/.test(cacheStatus)) return { outcome: 'filled' }
  return { outcome: 'unkept', why: cacheStatus === '' ? 'never kept' : cacheStatus }
}

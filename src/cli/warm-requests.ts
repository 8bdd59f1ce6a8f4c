import { CommandError } from './terminal.ts'
import type { EdgeAnswer, EdgeClient } from './warm-client.ts'

/** Asks for one URL after the other, as many at a time as the pace has it, and gives way whenever the edge says that it is too much. */

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

/** How many requests may be under way at once: one at first, one more for each round that went well, half where others wait. */

export interface Pace {
  readonly width: number
  /** A request was answered, whatever with: there was room for it. */
  answered(): void
  /** The edge refused one, since its nodes are full. */
  refused(): void
  /** What the edge says of its nodes; absent: nothing any more. */
  heard(nodes: readonly NodeRoom[] | undefined): void
}

/** A node as the edge sees it. */
export interface NodeRoom {
  readonly inFlight: number
  readonly limit: number
  readonly queue: number
}

export function pace(most: number): Pace {
  let width = 1
  let ceiling = most
  let well = 0
  const narrow = () => {
    width = Math.max(1, Math.floor(width / 2))
    well = 0
  }
  return {
    get width() {
      return width
    },
    answered() {
      well += 1
      if (well < width) return
      width = Math.min(ceiling, width + 1)
      well = 0
    },
    refused: narrow,
    heard(nodes) {
      // Whoever does not see how full they are goes one at a time.
      const rooms = nodes?.map((node) => roomOn(node, width)) ?? []
      ceiling = rooms.length === 0 ? 1 : Math.max(1, Math.min(most, ...rooms))
      width = Math.min(width, ceiling)
      if (nodes?.some(({ queue }) => queue > 0)) narrow()
    },
  }
}

/** Half of what others leave free: those who come next find a place. `mine` may all be there. */
function roomOn({ limit, inFlight }: NodeRoom, mine: number): number {
  return Math.floor((limit - Math.max(0, inFlight - mine)) / 2)
}

/** Reads them from the operations listener; rejects with a `CommandError` that says why it cannot. */
export async function readNodes(operations: Pick<EdgeClient, 'read'>): Promise<readonly NodeRoom[]> {
  const { status, text } = await operations.read('/api/nodes').catch((fault: Error) => {
    throw new CommandError(`the operations listener cannot be reached: ${fault.message}`)
  })
  const nodes = status === 200 ? nodesIn(text) : undefined
  if (nodes !== undefined) return nodes
  throw new CommandError(`GET /api/nodes of the operations listener answers ${status}; it needs operations:read`)
}

/** Of those that take calls. */
function nodesIn(text: string): readonly NodeRoom[] | undefined {
  try {
    const { nodes } = JSON.parse(text) as { readonly nodes: readonly (NodeRoom & { readonly state: string })[] }
    return nodes.filter(({ state, limit }) => (state === 'up' || state === 'full') && limit > 0)
  } catch {
    return undefined
  }
}

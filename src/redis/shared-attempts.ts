/** Attempts to log in, counted for all replicas. While Redis is away each replica counts for itself, up to its share. */
import { LRUCache } from 'lru-cache'
import { type Attempts, type Counted, createAttempts } from '../access/login-attempts.ts'
import type { Clock } from '../core/timing.ts'
import { ATTEMPT, attemptArgs } from './shared-attempts-script.ts'
import type { Heard, Pulse } from './shared-pulse.ts'
import type { Digest, PrepareScript } from './shared-script.ts'

export interface SharedAttemptsOptions {
  readonly prepare: PrepareScript
  /** As `AttemptOptions.failures`, over all replicas. */
  readonly failures: number
  readonly digest: Digest
  readonly pulse: Pick<Pulse, 'replicas' | 'away'>
  readonly clock: Clock
}

export interface SharedAttempts extends Attempts {
  /** Pairs that are blocked, as some replica found. */
  hear(heard: Heard): void
}

export function sharedAttempts(options: SharedAttemptsOptions): SharedAttempts {
  const { prepare, failures, digest, pulse, clock } = options
  const run = prepare(ATTEMPT)
  const blocks = new LRUCache<string, number>({ max: 20_000 })
  const underWay = new Map<string, number>()
  const alone = createAttempts({
    clock,
    get failures() {
      return Math.ceil(failures / pulse.replicas())
    },
  })

  /** `undefined`: Redis is away. */
  async function ask(what: 'count' | 'right' | 'undone', address: string, name: string): Promise<Reply | undefined> {
    const pair = digest(address, name)
    const keys = [`pair:${pair}`, `address:${digest(address)}`, 'edge', `known:${pair}`, 'blocked']
    try {
      return (await run(keys, [what, failures, pair, ...attemptArgs])) as Reply
    } catch {
      return undefined
    }
  }

  return {
    hear({ blocked }) {
      blocks.clear()
      for (const [pair, left] of blocked) blocks.set(pair, clock.elapsed() + left)
    },
    blocked(address, name) {
      if (pulse.away()) return alone.blocked(address, name)
      // Guesses that are still on their way to Redis: without this a burst of them would all pass.
      if ((underWay.get(pairOf(address, name)) ?? 0) >= failures) return BURST
      if (blocks.size === 0) return 0
      return Math.max(0, (blocks.get(digest(address, name)) ?? 0) - clock.elapsed())
    },
    async count(address, name) {
      const key = pairOf(address, name)
      underWay.set(key, (underWay.get(key) ?? 0) + 1)
      // Counted here too, at once: where Redis is lost this replica goes on from what it knows.
      const [counted, reply] = await Promise.all([alone.count(address, name), ask('count', address, name)])
      const left = (underWay.get(key) ?? 1) - 1
      if (left > 0) underWay.set(key, left)
      else underWay.delete(key)
      if (reply === undefined) return counted
      const [allowed, wait, known] = reply
      if (allowed === 1) return { allowed: true, delay: wait, known: known === 1 } satisfies Counted
      blocks.set(digest(address, name), clock.elapsed() + wait)
      return { allowed: false, after: wait }
    },
    async right(address, name) {
      await Promise.all([alone.right(address, name), ask('right', address, name)])
      blocks.delete(digest(address, name))
    },
    async undone(address, name) {
      await Promise.all([alone.undone(address, name), ask('undone', address, name)])
    },
  }
}

type Reply = readonly [allowed: number, wait: number, known: number]

/** Milliseconds: about a round trip. */
const BURST = 100

function pairOf(address: string, name: string): string {
  return `${address} ${name}`
}

/** Faults of single links: between one replica and Redis, and between one replica and one node. */
import type { Fault, FaultProxy } from '../proxy.ts'
import { type FaultLoop, loopFaults } from './fault-loop.ts'
import type { Random } from './random.ts'

export interface Link {
  /** Such as `replica 1 – Redis`. */
  readonly name: string
  /** URL of the replica. */
  readonly replica: string
  readonly to: 'Redis' | 'node'
  readonly proxy: FaultProxy
}

const MAX_LATENCY_MS = 3000

/** Milliseconds up to `MAX_LATENCY_MS`. Half of them are below 560, where a link is slow but not lost. */
const latency = (random: Random): number => random.below(1 + random.below(MAX_LATENCY_MS + 1))

export const linkFaults: Readonly<Record<string, (random: Random) => Fault>> = {
  latency: (random) => ({
    kind: 'link',
    toTarget: { delay: latency(random) },
    toClient: { delay: latency(random) },
  }),
  jitter: (random) => ({
    kind: 'link',
    toTarget: { jitter: latency(random) },
    toClient: { jitter: latency(random) },
  }),
  'packet loss': (random) => {
    const loss = (5 + random.below(45)) / 100
    return { kind: 'link', toTarget: { loss }, toClient: { loss } }
  },
  'loss of requests': () => ({ kind: 'link', toTarget: { loss: 1 } }),
  'loss of responses': () => ({ kind: 'link', toClient: { loss: 1 } }),
  partition: () => ({ kind: 'link', toTarget: { loss: 1 }, toClient: { loss: 1 } }),
  'slow close': () => ({ kind: 'slowClose' }),
}

/** Ends a fault. TCP delivers what was lost, or its connections have ended meanwhile: then it is lost for good. */
export async function healLink({ proxy }: Pick<Link, 'proxy'>, random: Random): Promise<void> {
  if (random.chance(0.5)) await proxy.set({ kind: 'refuse' })
  await proxy.set({ kind: 'pass' })
}

/** What the faults of one kind did to one link. */
export interface LinkEffect {
  readonly kind: string
  readonly link: string
  readonly times: number
  /** Delayed or lost chunks, and half-closed connections. */
  readonly affected: number
}

export interface LinkChaos extends FaultLoop {
  /** Whether each kind of fault has befallen each link. */
  isComplete(): boolean
  /** Whether a link to Redis has a fault now: of this replica, or of any. */
  isFaulty(replica?: string): boolean
  effects(): readonly LinkEffect[]
}

export interface LinkChaosOptions {
  readonly links: readonly Link[]
  readonly random: Random
  /** The only kind of fault to inject; all kinds if absent. */
  readonly only?: string
  /** One link at a time has a fault, and for longer than what is stored is fresh. */
  readonly isLong?: boolean
  /** Whether a replica has stored enough for a long fault of its link to matter. Absent: it always has. */
  readonly hasStored?: (replica: string) => boolean
}

/** Shorter and longer than the lease of the local tier, and than the time after which a writer takes Redis for lost. */
const MIN_FAULT_MS = 500
const MORE_FAULT_MS = 4000
const MAX_PAUSE_MS = 800
const LONG_FAULT_MS = 12_000
/** A replica uses Redis again 2 s after a fault, and needs time to store what it serves without it. */
const RECOVERED_MS = 4000
/** A busy machine takes longer to store enough. */
const MAX_STORING_WAITS = 100
/** Share of the turns in which a second link has a fault at the same time. */
const TWO_LINKS = 0.4

/** Draws kinds and links. Each kind befalls each link once before any is repeated. */
export function startLinkFaults(options: LinkChaosOptions): LinkChaos {
  const { links, random, only, isLong = false, hasStored = () => true } = options
  const kinds = Object.keys(linkFaults).filter((kind) => kind === (only ?? kind))
  const cells = kinds.flatMap((kind) => links.map((link) => ({ kind, link, times: 0, affected: 0 })))
  if (cells.length === 0) throw new RangeError(`there is no fault of links "${only}"`)
  const faulty = new Set<Link>()
  const drawCell = () => {
    const free = cells.filter(({ link }) => !faulty.has(link))
    const least = Math.min(...free.map(({ times }) => times))
    return random.of(free.filter(({ times }) => times === least))
  }
  const pause = () => (isLong ? RECOVERED_MS : random.below(MAX_PAUSE_MS))
  const loop = loopFaults(pause, async (wait) => {
    const drawn: typeof cells = []
    for (const _ of !isLong && random.chance(TWO_LINKS) && links.length > 1 ? [1, 2] : [1]) {
      const cell = drawCell()
      const { replica } = cell.link
      for (let waits = 0; isLong && waits < MAX_STORING_WAITS && !hasStored(replica); waits += 1) await wait(100)
      drawn.push(cell)
      faulty.add(cell.link)
      await cell.link.proxy.set(linkFaults[cell.kind]?.(random) ?? { kind: 'pass' })
    }
    await wait(isLong ? LONG_FAULT_MS : MIN_FAULT_MS + random.below(MORE_FAULT_MS))
    for (const cell of drawn) {
      cell.times += 1
      cell.affected += cell.link.proxy.affected()
      await healLink(cell.link, random)
      faulty.delete(cell.link)
    }
  })
  return {
    ...loop,
    isComplete: () => cells.every(({ times }) => times > 0),
    isFaulty: (replica) =>
      [...faulty].some((link) => link.to === 'Redis' && link.replica === (replica ?? link.replica)),
    effects: () => cells.map(({ kind, link, times, affected }) => ({ kind, link: link.name, times, affected })),
  }
}

/** Returns one effect for each kind and link, in the order of their first ones. */
export function sumEffects(effects: readonly LinkEffect[]): LinkEffect[] {
  const kinds = [...new Set(effects.map(({ kind }) => kind))]
  const links = [...new Set(effects.map(({ link }) => link))].sort()
  return links.flatMap((link) =>
    kinds.map((kind) => {
      const same = effects.filter((each) => each.kind === kind && each.link === link)
      const sum = (name: 'times' | 'affected') => same.reduce((total, each) => total + each[name], 0)
      return { kind, link, times: sum('times'), affected: sum('affected') }
    }),
  )
}

/** Returns a table of the faults: one row for each link, one column for each kind. */
export function describeEffects(effects: readonly LinkEffect[]): string {
  const kinds = [...new Set(effects.map(({ kind }) => kind))]
  const rows = [...new Set(effects.map(({ link }) => link))].map((name) => {
    const own = effects.filter(({ link }) => link === name)
    return [name, ...own.map(({ times, affected }) => `${times} (${affected})`)]
  })
  const table = [['link: faults (chunks affected)', ...kinds], ...rows]
  const widths = [...kinds, ''].map((_, at) => Math.max(...table.map((row) => row[at]?.length ?? 0)))
  return table.map((row) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`).join('\n')
}

/** Returns the kinds, or the links, whose faults had no effect. */
export function ineffective(effects: readonly LinkEffect[], by: 'kind' | 'link'): string[] {
  const drawn = effects.filter(({ times }) => times > 0)
  const names = [...new Set(drawn.map((each) => each[by]))]
  return names.filter((name) => drawn.every((each) => each[by] !== name || each.affected === 0))
}

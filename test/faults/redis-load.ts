/** A steady load of reads through several replicas, measured in phases. */
import { Agent, request } from 'undici'
import { authorization } from './coherence/processes.ts'
import type { Random } from './coherence/random.ts'

export interface SteadyOptions {
  readonly replicas: readonly string[]
  /** Requests per second over all replicas. */
  readonly rate: number
  readonly random: Random
}

export interface Phase {
  readonly requests: number
  /** Wrong or missing responses. */
  readonly failures: readonly string[]
  readonly hits: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
}

export interface SteadyLoad {
  /** Begins another phase. A request belongs to the phase in which it began. */
  phase(name: string): void
  /** Returns the share of hits in this phase. */
  hitRatio(): number
  /** Ends the load. Resolves with all phases when every request has its response. */
  stop(): Promise<Readonly<Record<string, Phase>>>
}

/** Nine of ten requests are for 20 agents, the tenth for any of 400. */
const HOT_AGENTS = 20
const ALL_AGENTS = 400
const TICK_MS = 10

interface Measurements {
  readonly times: number[]
  readonly failures: string[]
  hits: number
}

export function startSteadyLoad({ replicas, rate, random }: SteadyOptions): SteadyLoad {
  const agent = new Agent({ pipelining: 1, headersTimeout: 30_000, bodyTimeout: 30_000 })
  const phases = new Map<string, Measurements>()
  const under = new Set<Promise<void>>()
  let taken: Measurements = { times: [], failures: [], hits: 0 }
  let owed = 0
  let last = performance.now()

  async function ask(into: Measurements): Promise<void> {
    const id = String(1 + random.below(random.chance(0.9) ? HOT_AGENTS : ALL_AGENTS)).padStart(3, '0')
    const begin = performance.now()
    try {
      const { statusCode, headers, body } = await request(`${random.of(replicas)}/agents/${id}`, {
        headers: { authorization },
        dispatcher: agent,
      })
      const text = await body.text()
      if (statusCode !== 200 || !text.includes(`"id":"${id}"`))
        into.failures.push(`${statusCode} ${text.slice(0, 200)}`)
      if (/;\s*hit\b/.test(String(headers['cache-status'] ?? ''))) into.hits += 1
    } catch (fault) {
      into.failures.push(String(fault))
    }
    into.times.push(performance.now() - begin)
  }

  const timer = setInterval(() => {
    const now = performance.now()
    // After this process was blocked, the missed requests must not be sent in one burst.
    owed = Math.min(owed + ((now - last) * rate) / 1000, rate / 10)
    last = now
    for (; owed >= 1; owed -= 1) {
      const one = ask(taken)
      under.add(one)
      void one.finally(() => under.delete(one))
    }
  }, TICK_MS)

  return {
    phase(name) {
      taken = { times: [], failures: [], hits: 0 }
      phases.set(name, taken)
    },
    hitRatio: () => taken.hits / Math.max(1, taken.times.length),
    async stop() {
      clearInterval(timer)
      await Promise.all(under)
      await agent.destroy()
      return Object.fromEntries([...phases].map(([name, each]) => [name, summary(each)]))
    },
  }
}

function summary({ times, failures, hits }: Measurements): Phase {
  const sorted = times.sort((a, b) => a - b)
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
  return { requests: sorted.length, failures, hits, p50: at(0.5), p99: at(0.99) }
}

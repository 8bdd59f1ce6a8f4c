/**
 * A check of coherence by the replicas themselves, without a request to the manager: a test entry of the cache is
 * invalidated through one replica as a write does it, and looked up through every replica. Replicas on another Redis
 * cannot be seen; `manager-edge verify-coherence` reads through their addresses.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { StoredForms } from '../core/response.ts'
import { ownText } from '../core/values.ts'
import type { ReplicaCalls } from '../redis/replica.ts'
import {
  type CoherenceClient,
  type CoherenceRead,
  createResult,
  type ReplicaDelays,
  runRounds,
  summarizeReads,
} from './coherence-rounds.ts'
import type { CacheStore } from './stores/contract.ts'

export interface CoherenceOutcome {
  readonly rounds: number
  readonly replicas: readonly ReplicaDelays[]
  /** The names of replicas that did not answer. */
  readonly missing: readonly string[]
  /** Why there are fewer rounds than planned. */
  readonly failure?: string
}

export type CoherenceCheck = ReturnType<typeof createCoherenceCheck>

interface CoherenceCheckPorts {
  readonly calls: ReplicaCalls
  readonly store: Pick<CacheStore, 'lookup' | 'store' | 'fence'>
  /** The name of this replica. */
  readonly name: string
  /** Milliseconds after which the rounds end. */
  readonly maxDuration?: number
}

const ROUNDS = 10
/** The page waits for 30 s. */
const MAX_DURATION_MS = 20_000
const CALL_TIMEOUT_MS = 2000
const TTL_MS = 60_000

type Request =
  | { readonly kind: 'name' }
  /** `value`: what a node would answer now. */
  | { readonly kind: 'read'; readonly entry: string; readonly value: string }
  | { readonly kind: 'write'; readonly entry: string }

/** The replica with this `name` answers from now on. */
export function createCoherenceCheck(ports: CoherenceCheckPorts) {
  let running: Promise<CoherenceOutcome> | undefined
  ports.calls.answerWith((request) =>
    answer(ports, request).catch((error: Error) => ({ error: error.message.slice(0, 300) })),
  )
  return {
    /** `others`: the names of the other replicas. A call during a check returns its outcome. */
    run: (others: readonly string[]): Promise<CoherenceOutcome> => {
      running ??= check(ports, others).finally(() => {
        running = undefined
      })
      return running
    },
  }
}

async function check(ports: CoherenceCheckPorts, others: readonly string[]): Promise<CoherenceOutcome> {
  const { maxDuration = MAX_DURATION_MS } = ports
  const clients = await findReplicas(ports, others.length + 1)
  const missing = others.filter((other) => clients.every(({ replica }) => replica !== other))
  if (clients.length === 0)
    return { rounds: 0, replicas: [], missing, failure: 'found no replica: Redis is unreachable' }
  const result = createResult(clients)
  const endsAt = performance.now() + maxDuration
  const pause = async (ms: number): Promise<void> => {
    if (performance.now() > endsAt) throw new Error(`it takes longer than ${maxDuration / 1000} s`)
    await sleep(ms)
  }
  const remedy = 'check cache.enabled, and the problems of the replica'
  const failure = await runRounds({ clients, rounds: ROUNDS, sleep: pause, remedy }, result).then(
    () => undefined,
    (error: Error) => `stopped after ${result.rounds} of ${ROUNDS} rounds: ${error.message}`,
  )
  const replicas = result.replicas.map(summarizeReads)
  return { rounds: result.rounds, replicas, missing, ...(failure !== undefined && { failure }) }
}

/**
 * Returns the replicas that answer, this one included, in the order of their names. The entry of the check belongs to this
 * replica alone: writes of another check of the entry would count as stale reads.
 */
async function findReplicas({ calls }: CoherenceCheckPorts, expected: number): Promise<CoherenceClient[]> {
  const { id: entry } = calls
  const found = await calls.call({ kind: 'name' } satisfies Request, expected, CALL_TIMEOUT_MS)
  const id = randomUUID()
  let written = 0
  const clients = found.map(({ from, reply }): CoherenceClient => {
    const replica = ownText(reply, 'name') ?? from
    const ask = async (request: Request): Promise<unknown> => {
      const [received] = await calls.call(request, 1, CALL_TIMEOUT_MS, from)
      if (received === undefined) throw new Error(`${replica} did not answer within ${CALL_TIMEOUT_MS} ms`)
      const error = ownText(received.reply, 'error')
      if (error !== undefined) throw new Error(`${replica}: ${error}`)
      return received.reply
    }
    return {
      replica,
      read: async () => {
        const reply = await ask({ kind: 'read', entry, value: `${id} ${written}` })
        return { value: ownText(reply, 'value') ?? '', cacheStatus: ownText(reply, 'cacheStatus') ?? '' }
      },
      write: async (round) => {
        await ask({ kind: 'write', entry })
        written = round
      },
    }
  })
  return clients.sort((a, b) => (a.replica < b.replica ? -1 : 1))
}

/** Another program may have published the request, so it reaches no entry but those of checks. */
async function answer(ports: CoherenceCheckPorts, request: unknown): Promise<object> {
  const kind = ownText(request, 'kind')
  const tag = `coherence-check:${ownText(request, 'entry') ?? ''}`
  if (kind === 'name') return { name: ports.name }
  if (kind === 'write') return write(ports, tag)
  if (kind === 'read') return read(ports, tag, ownText(request, 'value') ?? '')
  throw new Error('the replica has another version')
}

async function read({ store }: CoherenceCheckPorts, key: string, value: string): Promise<CoherenceRead> {
  const tags = [key]
  const since = performance.now()
  const lookup = await store.lookup(key, tags)
  const isUsable = lookup.kind !== 'unavailable' && !lookup.epochs.fenced
  if (lookup.kind === 'hit' && isUsable && lookup.response.age < lookup.response.ttl) {
    const { body, age, ttl } = lookup.response
    return { value: body.toString(), cacheStatus: `manager-edge; hit; ttl=${Math.floor((ttl - age) / 1000)}` }
  }
  if (!isUsable) return { value, cacheStatus: 'manager-edge; fwd=bypass' }
  const times = { ttl: TTL_MS, staleWhileRevalidate: 0, staleIfError: 0, fetchTime: performance.now() - since }
  const response = { status: 200, body: Buffer.from(value), etag: '""', forms: new StoredForms(), ...times }
  const info = { url: '/cache#coherence-check', group: 'manager', endpoint: '/cache', scope: 'rights', tags }
  await store.store({ key, tags, epochs: lookup.epochs, response, info })
  return { value, cacheStatus: 'manager-edge; fwd=uri-miss; stored' }
}

/** As a write whose node answers at once. */
async function write({ store }: CoherenceCheckPorts, tag: string): Promise<object> {
  const fence = await store.fence([tag])
  const isLifted = await fence.lift([])
  if (fence.state !== 'active' || !isLifted) throw new Error('Redis has not confirmed the invalidation')
  return {}
}

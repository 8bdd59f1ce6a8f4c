/**
 * A crowd of clients in front of two replicas in virtual time: the cache, the queue and the flows are the real ones. The clients,
 * the node and its limit are those of `npm run bench:relief`.
 */

import { createInterpreters } from '../../../packages/simulator/src/interpreters.ts'
import { ttlOf } from '../../../src/cache/lifetimes.ts'
import { createMemoryStore } from '../../../src/cache/stores/memory-store.ts'
import { schema } from '../../../src/config/schema.ts'
import { parseValues, validate } from '../../../src/config/validate.ts'
import type { CacheGroup } from '../../../src/contracts/endpoint.ts'
import { EdgeError } from '../../../src/core/errors.ts'
import type { NodeSlots, SharedSlots } from '../../../src/core/node-call.ts'
import { Presence } from '../../../src/core/presence.ts'
import type { EdgeRead, RequestClient } from '../../../src/core/request.ts'
import { startDeadline } from '../../../src/core/timing.ts'
import { kindOf, Sequences } from '../../../src/http/sequences.ts'
import type { LimitedCall } from '../../../src/upstream/flows.ts'
import { ConcurrencyLimiter } from '../../../src/upstream/limiter.ts'
import { cacheStatusOf, edgeRequest, replica, success } from '../../support/edge-requests.ts'
import { Agenda } from '../../unit/upstream/limiter-simulation.ts'

const LIMIT = 4
const REPLICAS = 2
/** The master, and the workers, which answer from their copies while it has no free slot. They share one machine. */
const NODES = ['m', 'w1', 'w2']
const TIMEOUT_MS = 20_000
/** After a rejection, until a bulk client comes again without regard to `Retry-After`. */
const AGAIN_MS = 10
/** A hit takes this long. */
const HIT_MS = 0.3

/** Replaces the timers of the process by virtual ones. */
export class VirtualTime {
  now = 1000
  #agenda = new Agenda()

  constructor() {
    const { setImmediate: immediate } = globalThis
    this.turn = () => new Promise<void>((resolve) => void immediate(resolve))
    Object.assign(globalThis, {
      setTimeout: (run: (...values: unknown[]) => void, ms = 0, ...values: unknown[]) => {
        const timer = { isCleared: false, unref: () => timer, ref: () => timer, hasRef: () => false }
        if (Number.isFinite(ms))
          this.#agenda.add(this.now + Math.max(0, ms), async () => void (timer.isCleared || run(...values)))
        return timer
      },
      clearTimeout: (timer?: { isCleared: boolean }) => void (timer && Object.assign(timer, { isCleared: true })),
    })
  }

  readonly turn: () => Promise<void>
  readonly clock = (): number => this.now
  readonly sleep = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms))
  readonly runAfter = (run: () => void, ms: number) => {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  }

  async runUntil(end: number): Promise<void> {
    for (let event = this.#agenda.next(); event !== undefined; event = this.#agenda.next()) {
      if (event.at > end) {
        this.#agenda.add(event.at, event.run)
        break
      }
      this.now = Math.max(this.now, event.at)
      void event.run()
      await this.turn()
    }
    this.now = end
  }

  clear(): void {
    this.#agenda = new Agenda()
  }
}

/** The slots of a node over replicas, as Redis distributes them: the next free one goes to the holder with fewest. */
function sharedSlots(limit: number): SharedSlots {
  const holders: { granted: number; inFlight: number; demand: number; onChange: () => void }[] = []
  const free = () => limit - holders.reduce((sum, { granted }) => sum + granted, 0)
  const distribute = () => {
    for (;;) {
      const waiting = holders.filter(({ granted, demand }) => demand > granted)
      const [next] = waiting.sort((a, b) => a.granted - b.granted)
      if (next === undefined || free() <= 0) return
      next.granted += 1
      queueMicrotask(next.onChange)
    }
  }
  return {
    open: (_name, _limit, onChange): NodeSlots => {
      const own = { granted: 0, inFlight: 0, demand: 0, onChange }
      holders.push(own)
      return {
        get usable() {
          return own.granted
        },
        get available() {
          return free() + own.granted
        },
        get expected() {
          const active = holders.filter(({ granted, demand }) => granted + demand > 0).length
          return Math.max(own.granted, limit / Math.max(1, active))
        },
        update: (inFlight, demand) => {
          own.inFlight = inFlight
          own.demand = demand
          own.granted = inFlight
          queueMicrotask(distribute)
        },
        close: async () => undefined,
      }
    },
  }
}

/** Returns a generator of numbers from 0 to 1. */
function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let x = Math.imul(state ^ (state >>> 15), 1 | state)
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296
  }
}

const written = {}
validate(written)
const { cache } = parseValues(schema, written, () => '/') as {
  cache: { ttl: Record<string, number>; endpoints: Record<string, number>; defaultTtl: number }
}

interface Target {
  readonly path: string
  readonly request: (client: RequestClient) => EdgeRead
}

function target(id: `GET ${string}`, params: Record<string, string> = {}, query: Record<string, string> = {}): Target {
  let path = id.slice(4)
  for (const [name, value] of Object.entries(params)) path = path.replace(`:${name}`, value)
  const text = Object.entries(query)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
  if (text !== '') path += `?${text}`
  return { path, request: (client) => edgeRequest(id, { params, query, client }) }
}

const DASHBOARD = [
  target('GET /manager/info'),
  target('GET /cluster/status'),
  target('GET /agents/summary'),
  target('GET /agents', {}, { limit: '1', sort: '-dateAdd' }),
  target('GET /summary/agents'),
  target('GET /agents', {}, { offset: '0', limit: '500', sort: '-id' }),
  target('GET /manager/status'),
  target('GET /cluster/nodes'),
  target('GET /manager/logs', {}, { limit: '10' }),
]

const INVENTORY = ['os', 'hardware', 'packages', 'ports', 'processes', 'netaddr', 'netiface', 'netproto']
const pages = (id: `GET ${string}`, rows: number) =>
  Array.from({ length: Math.ceil(rows / 20) }, (_, at) => target(id, {}, { limit: '20', offset: String(at * 20) }))
const BULK = [
  ...pages('GET /agents', 100),
  ...pages('GET /rules', 700),
  ...pages('GET /decoders', 130),
  ...Array.from({ length: 100 }, (_, at) => String(at + 1).padStart(3, '0')).flatMap((id) =>
    INVENTORY.map((part) => target(`GET /syscollector/:agent_id/${part}`, { agent_id: id }, { limit: '20' })),
  ),
]
/** Two paths of dashboards with queries that no dashboard has. */
const search = (text: string, at: number) =>
  target(at % 2 === 0 ? 'GET /agents' : 'GET /manager/logs', {}, { limit: '20', search: text })
const SEARCHES = Array.from({ length: 1000 }, (_, at) => search(String(at), at))
const BULK_PATHS = new Set([...BULK, ...SEARCHES].map(({ path }) => path))
/** The share of searches, which differ from person to person, in the reads of a person. */
const SEARCH_SHARE = 0.03

export interface Crowd {
  readonly people: number
  readonly bulk?: number
  /** Bulk clients search, and people do it sometimes. Default: bulk clients read other paths than people. */
  readonly search?: true
  readonly impatient?: number
  /** The user of the others; that of the people is `browser`. */
  readonly user: string
  /** `pool`: idle connections are shared; `own`: one for each client; `each`: one for each request. */
  readonly connections: 'pool' | 'own' | 'each'
}

/** A request of a dashboard. */
export interface Answer {
  readonly path: string
  /** When it was sent, and the milliseconds until its answer or until the end of the simulation. */
  readonly at: number
  /** It is late if it has no answer by then. */
  readonly limit: number
  ms: number
  how: string
}

const LIMIT_MS = 1000
/** With four in flight, a call takes more than a second. No other client causes the call of a search before. */
const SEARCH_LIMIT_MS = 3000

export async function simulate(time: VirtualTime, crowd: Crowd, seed: number, warmUp = 20_000, seconds = 20) {
  const random = seeded(seed)
  const { clock, sleep, runAfter } = time
  time.clear()
  const start = time.now
  const processors = createInterpreters({ scale: 1, work: 0.45, atOnce: LIMIT }, { now: clock, runAfter })
  const slots = NODES.map(() => sharedSlots(LIMIT))
  const limits = { inFlight: LIMIT, queue: 256, timeout: 20_000 }
  const store = createMemoryStore({ bytes: () => 1 << 24, elapsed: clock })
  let calls = 0
  let bulkCalls = 0
  const replicas = Array.from({ length: REPLICAS }, () => {
    const limiters = slots.map(
      (own, at) =>
        new ConcurrencyLimiter(NODES[at] ?? '', own, { limits: () => limits, clock, budget: () => undefined }),
    )
    const [limiter] = limiters as [ConcurrencyLimiter]
    const limiterFor = ({ endpoint: { target }, client: { flow } }: EdgeRead): ConcurrencyLimiter =>
      (target.kind === 'anyNode' && !flow?.isBulk ? limiters.find(({ admission }) => admission.free > 0) : undefined) ??
      limiter
    const parts = replica({
      store,
      clock,
      lifetimesOf: (group: CacheGroup, name: string) => ({
        ttl: ttlOf(cache, group, name),
        staleWhileRevalidate: 'automatic' as const,
        staleIfError: 60_000,
      }),
      hasIdleCapacity: () => limiter.admission.hasQueueSpace && limiter.admission.free > 1,
      isSaturated: () => limiter.admission.isSaturated,
      firstNode: () => 'm',
    })
    parts.nodes.respond = async (request) => {
      const { client } = request as EdgeRead
      const { params, query } = request
      let path = request.endpoint.path as string
      for (const [name, value] of Object.entries(params)) path = path.replace(`:${name}`, String(value))
      const text = Object.entries(query)
        .map(([name, value]) => `${name}=${value}`)
        .join('&')
      if (text !== '') path += `?${text}`
      const call: LimitedCall = {
        priority: request.priority,
        caller: 'edge',
        ...(client.flow !== undefined && { flow: client.flow }),
        ...(client.presence && { presence: client.presence }),
        endpoint: `GET ${request.endpoint.path}`,
      }
      const deadline = startDeadline(TIMEOUT_MS, client.signal, clock)
      const node = limiterFor(request as EdgeRead)
      const slot = await node.acquire(call, deadline)
      if (!slot.ok) {
        deadline.end()
        throw new EdgeError(slot.fault === 'overloaded' ? 921 : 922)
      }
      const begun = clock()
      await processors.run(1)
      node.release(call, begun, 'success')
      deadline.end()
      if (clock() - start > warmUp) {
        calls += 1
        if (BULK_PATHS.has(path)) bulkCalls += 1
      }
      return success(path)
    }
    return { limiter, read: parts.read }
  })
  const answers: Answer[] = []
  let connections = 0
  const pools = new Map<string, number[]>()
  const known = new Map<number | string, number>()
  const sequences = Array.from({ length: REPLICAS }, () => new Sequences(clock)) as [Sequences, Sequences]
  const open = () => (connections += 1)
  const ask = async (party: string, client: number, { path, request }: Target, patience: number): Promise<boolean> => {
    const at = client % REPLICAS
    const pool = pools.get(`${party} ${at}`) ?? []
    pools.set(`${party} ${at}`, pool)
    const connection =
      crowd.connections === 'own' ? `${party}${client}` : crowd.connections === 'each' ? open() : (pool.pop() ?? open())
    const presence = new Presence()
    const controller = new AbortController()
    const user = party === 'people' ? 'browser' : crowd.user
    const sentAt = clock()
    const name = `${user} 127.0.0.1`
    let flow: ReturnType<Sequences['begin']> | undefined
    const requestClient: RequestClient = {
      presence,
      signal: controller.signal,
      // A request that needs no node does not count.
      get flow() {
        if (flow !== undefined) return flow
        const number = known.get(connection)
        if (number === undefined) known.set(connection, known.size + 1)
        const { kind, page } = kindOf(asked)
        flow = sequences[at as 0 | 1].begin(name, kind, number, page)
        return flow
      },
    }
    const asked: EdgeRead = request(requestClient)
    const limit = path.includes('search') ? SEARCH_LIMIT_MS : LIMIT_MS
    const answer: Answer = { path, at: sentAt - start, limit, ms: Number.POSITIVE_INFINITY, how: 'no answer' }
    if (party === 'people') answers.push(answer)
    const answering = (async () => replicas[at]?.read(asked))()
    let how = ''
    const left = Symbol()
    const result = await Promise.race([
      answering.then(
        (response) => {
          const { fwd, hit, detail, collapsed } = (response && cacheStatusOf(response)) ?? {}
          how = [hit ? 'hit' : fwd, detail, collapsed && 'collapsed'].filter(Boolean).join(';')
          return true
        },
        (error: unknown) => {
          how = error instanceof EdgeError ? String(error.code) : String(error)
          return false
        },
      ),
      ...(Number.isFinite(patience) ? [sleep(patience).then(() => left)] : []),
    ])
    if (result === left) {
      how = 'left'
      presence.set('left')
      controller.abort()
      answering.catch(() => undefined)
    } else pool.push(connection as number)
    flow?.end()
    Object.assign(answer, { ms: clock() - sentAt, how })
    await sleep(HIT_MS)
    return result === true
  }
  const people = async (client: number) => {
    for (await sleep((1000 * client) / crowd.people); ; await sleep(1000 * (0.5 + random()))) {
      const isSearch = crowd.search && random() < SEARCH_SHARE
      const next = isSearch
        ? search(`${client} at ${clock()}`, client)
        : DASHBOARD[Math.floor(random() * DASHBOARD.length)]
      if (next) await ask('people', client, next, Number.POSITIVE_INFINITY)
    }
  }
  let bulkAnswers = 0
  const bulk = async (client: number, count: number) => {
    const targets = crowd.search ? SEARCHES : BULK
    await sleep((1000 * client) / count + random())
    for (let position = client * 7; ; position += 1) {
      const next = targets[position % targets.length]
      if (next && (await ask('bulk', client, next, Number.POSITIVE_INFINITY))) bulkAnswers += 1
      else await sleep(AGAIN_MS)
    }
  }
  const impatient = async (client: number, count: number) => {
    await sleep((1000 * client) / count + random())
    for (let position = client * 7; ; position += 10) {
      const next = Array.from({ length: 10 }, (_, at) => BULK[(position + at) % BULK.length])
      await Promise.all(next.map((each) => each && ask('impatient', client, each, 1000)))
    }
  }
  for (let client = 0; client < crowd.people; client += 1) void people(client)
  for (let client = 0; client < (crowd.bulk ?? 0); client += 1) void bulk(client, crowd.bulk ?? 0)
  for (let client = 0; client < (crowd.impatient ?? 0); client += 1) void impatient(client, crowd.impatient ?? 0)
  const end = warmUp + 1000 * seconds
  await time.runUntil(start + end)
  // Whether a later request is late is not known at the end.
  const measured = answers.filter(({ at, limit }) => at >= warmUp && at <= end - limit)
  const late = measured.filter(({ ms, limit, how }) => ms > limit || /^\d/.test(how))
  const spent = seconds
  const interactiveCalls = calls - bulkCalls
  return {
    measured,
    late,
    within: 1 - late.length / measured.length,
    calls: calls / spent,
    bulkShare: bulkCalls / ((spent * 1.6) / 0.45 - interactiveCalls),
    bulkAnswers,
  }
}

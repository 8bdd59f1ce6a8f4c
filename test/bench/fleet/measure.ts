/** Measures one fleet of `npm run bench:fleet`: each read twice, first through one replica and then through the other. */
import { MEMORY_REQUEST, type MemoryUse, TURNS_REQUEST } from '../../faults/coherence/memory-request.ts'
import { startRedis } from '../../support/redis.ts'
import {
  basic,
  nodePassword,
  type Replicas,
  type RunningCluster,
  startCluster,
  startReplicas,
} from '../clients/parties.ts'
import { cpuOf } from '../load.ts'
import { WrongResponseError } from '../verify.ts'
import { type FleetMode, type FleetRead, fleetReads, membersOf, modes } from './reads.ts'

export interface Cost {
  readonly calls: number
  readonly ms: number
  /** Milliseconds of CPU time of all replicas. */
  readonly cpu: number
  /** Milliseconds of CPU time of the longest turn of an event loop. */
  readonly turn: number
  /** Bytes of the largest replica after a garbage collection. */
  readonly memory: number
}

export interface MeasuredRead {
  readonly read: FleetRead
  readonly first: Cost
  readonly second: Cost
}

export interface FleetOptions {
  readonly agents: number
  readonly workers: number
  /** Seconds of processor time of each call of a node; 0: as fast as the process. */
  readonly work: number
  readonly mode: FleetMode
  readonly only: RegExp | undefined
}

/** A call takes no time. */
const INSTANT_SCALE = 1_000_000
const GROUP = 'default'

export async function* measureFleet(options: FleetOptions): AsyncGenerator<MeasuredRead> {
  const { agents, workers, work, mode, only } = options
  const { contract, layout, distribution } = modes[mode]
  const capacity = work > 0 ? { work } : { scale: INSTANT_SCALE }
  const distributed = distribution === 'manager'
  const cluster = await startCluster({ agents, workers, capacity, layout, distributed, isStill: true })
  const redis = await startRedis()
  const replicas = await startReplicas(2, {
    nodes: cluster.nodes,
    redis: redis.url,
    contract,
    layout,
    cluster: { distribution, discover: false, limits: { perMinute: 0 } },
    // What is paid for once lasts for the whole run.
    cache: { ttl: { agents: '1h', summary: '1h', manager: '1h', cluster: '1h', syscollector: '1h' } },
  })
  try {
    const fleet = new RunningFleet(cluster, replicas, mode)
    const members = await fleet.totalOf(`${membersOf({ mode, group: GROUP })}?limit=1`)
    for (const read of fleetReads({
      agents: agents + 1,
      nodes: workers + 1,
      members,
      group: GROUP,
      mode,
    })) {
      if (only !== undefined && !only.test(read.name)) continue
      yield { read, first: await fleet.measure(read, 0), second: await fleet.measure(read, 1) }
    }
  } finally {
    await replicas.close()
    await redis.close()
    cluster.close()
  }
}

type Rows = readonly Readonly<Record<string, unknown>>[]

/** Of either contract. */
interface Page {
  readonly error: number
  readonly data: {
    readonly items?: Rows
    readonly affected_items?: Rows
    readonly totalItems?: number
    readonly total_affected_items?: number
    readonly covered_agents?: { readonly covered: number; readonly all: number }
  }
}

/** The edge asks for them whether clients read or not. */
const PROBES: ReadonlySet<string> = new Set(['/', '/version'])

class RunningFleet {
  readonly #cluster: RunningCluster
  readonly #replicas: Replicas
  /** Where the right response is: in mode `manager`, the master. Otherwise the first response counts. */
  readonly #node: string | undefined
  readonly #mode: FleetMode
  #token: Promise<string> | undefined
  /** The body of each URL that was read. */
  readonly #known = new Map<string, string>()

  constructor(cluster: RunningCluster, replicas: Replicas, mode: FleetMode) {
    this.#cluster = cluster
    this.#replicas = replicas
    this.#mode = mode
    this.#node = mode === 'manager' ? cluster.nodes[0]?.url : undefined
  }

  async totalOf(target: string): Promise<number> {
    const { body } = await ask(`${this.#replicas.urls[0]}${target}`, await this.#authorization())
    const { error, data } = JSON.parse(body) as Page
    if (error !== 0) throw new WrongResponseError(`${target}: ${body}`)
    return data.totalItems ?? data.total_affected_items ?? 0
  }

  /** Reads through one replica, and verifies each response. */
  async measure(read: FleetRead, replica: 0 | 1): Promise<Cost> {
    const base = this.#replicas.urls[replica] ?? ''
    const authorization = await this.#authorization()
    await this.#replicas.ask(TURNS_REQUEST)
    const [callsBefore, cpuBefore, begun] = [await this.#calls(), await this.#cpu(), performance.now()]
    const answers: Answer[] = []
    for (const url of read.urls) answers.push(await ask(base + url, authorization))
    const ms = performance.now() - begun
    const [cpu, turns] = [await this.#cpu(), await this.#replicas.ask<number>(TURNS_REQUEST)]
    const calls = (await this.#calls()) - callsBefore
    const memory = await this.#replicas.ask<MemoryUse>(MEMORY_REQUEST)
    await this.#verify(read, answers, replica)
    return {
      calls,
      ms,
      cpu: (cpu - cpuBefore) / 1000,
      turn: Math.max(...turns),
      memory: Math.max(...memory.map(({ held }) => held)),
    }
  }

  /** Throws WrongResponseError. The right response is known for each read but those of rows of all agents. */
  async #verify(read: FleetRead, answers: readonly Answer[], replica: 0 | 1): Promise<void> {
    const wrong = (what: string): never => {
      throw new WrongResponseError(`${read.name}, replica ${replica}: ${what}`)
    }
    let rows = 0
    const seen = new Set<unknown>()
    for (const [at, { status, body, cacheStatus }] of answers.entries()) {
      const url = read.urls[at] ?? ''
      if (status !== 200) wrong(`${url}: status ${status}: ${body.slice(0, 200)}`)
      const { error, data } = JSON.parse(body) as Page
      if (error !== 0) wrong(`${url}: error ${error}`)
      const covered = data.covered_agents?.covered
      const isExpected =
        covered === undefined
          ? replica === 0 || /; hit\b|detail=snapshot/.test(cacheStatus)
          : !/\bhit\b|stored/.test(cacheStatus)
      if (!isExpected || covered === 0) wrong(`${url}: Cache-Status ${cacheStatus}, ${covered} agents covered`)
      const items = data.items ?? data.affected_items ?? []
      rows += items.length
      for (const { id } of items) seen.add(id)
      if (read.isOfAllAgents || url.startsWith('/cluster/*')) continue
      const known =
        this.#known.get(url) ?? (this.#node ? (await ask(this.#node + url, basic('edge', nodePassword))).body : body)
      this.#known.set(url, known)
      if (body !== known) wrong(`${url}: ${body.length} bytes differ from ${known.length} of the node`)
    }
    if (read.rows !== undefined && (rows !== read.rows || seen.size !== rows))
      wrong(`${rows} rows, ${seen.size} different ones, instead of ${read.rows}`)
  }

  /** A client of the v4 contract is a user of the manager, with a token. */
  async #authorization(): Promise<string> {
    if (modes[this.#mode].contract === 'v3') return basic('writer')
    this.#token ??= logIn(this.#replicas.urls[0] ?? '')
    return `Bearer ${await this.#token}`
  }

  async #calls(): Promise<number> {
    const calls = await this.#cluster.calls()
    return [...calls].reduce((sum, [path, count]) => sum + (PROBES.has(path) ? 0 : count), 0)
  }

  /** Microseconds. */
  async #cpu(): Promise<number> {
    const all = await Promise.all(this.#replicas.pids.map(cpuOf))
    return all.reduce((sum, one) => sum + one, 0)
  }
}

interface Answer {
  readonly status: number
  readonly body: string
  readonly cacheStatus: string
}

async function logIn(url: string): Promise<string> {
  const headers = { authorization: basic('edge', nodePassword) }
  const response = await fetch(`${url}/security/user/authenticate?raw=true`, { method: 'POST', headers })
  return response.text()
}

async function ask(url: string, authorization: string): Promise<Answer> {
  const response = await fetch(url, { headers: { authorization } })
  return {
    status: response.status,
    body: await response.text(),
    cacheStatus: response.headers.get('cache-status') ?? '',
  }
}

/** The time that a node needs for a request: none, or as much as a real node with its own cache. */
import { createInterpreters, type Interpreters, type Time } from './interpreters.ts'
import { wait } from './wait.ts'
import type { Outgoing } from './wire.ts'

export interface NodeCapacity {
  /** Factor by which the node is faster than a real one; default 1. */
  readonly scale?: number
  /** Seconds of processor time of a usual call, on average; default 0.4. */
  readonly work?: number
  /** The number of calls in progress beyond which a node becomes slower as a whole; default 4. */
  readonly atOnce?: number
  /** `shared`: all nodes run on the two processors of one machine; default `own`: each node has its own two. */
  readonly machines?: 'own' | 'shared'
}

/** The current and past load of a node. */
export interface Load {
  /** Requests to its API in flight now, and their maximum so far. */
  readonly inFlight: number
  readonly most: number
  /** Requests answered so far, and those among them that started an interpreter. */
  readonly served: number
  readonly interpreted: number
  /** Most interpreters at once so far, without those that work for another node. */
  readonly mostInterpreted: number
  /** Milliseconds of the longest call so far, without the calls from inside the cluster. */
  readonly longest: number
  /** Calls so far that the node carried out for another node. */
  readonly forwarded: number
}

export interface CapacityModel {
  readonly load: Load
  /** Counts the request until its response is complete. */
  countInFlight(serve: () => Promise<Outgoing>): Promise<Outgoing>
  /** Checks a password, as for every request. */
  admit(): Promise<void>
  /** Returns the response to a GET, possibly from the node's own cache; `bypass` skips that cache. */
  respond(asked: Asked, make: () => Promise<Outgoing>): Promise<Outgoing>
  /** Does the work of a call that another node passes on; these calls run one at a time. */
  carryOut(): Promise<void>
}

export interface Asked {
  readonly method: string
  /** The raw request target, which is the only key of the real cache. */
  readonly url: string
  readonly path: string
  readonly bypass: boolean
}

/** Milliseconds that the single thread of the API is blocked by one password check. */
const PASSWORD_CHECK_MS = 20
const OWN_CACHE_MS = 750
/** Paths that the API answers without an interpreter. */
const LIGHT = new Set(['/', '/version'])
/** Paths that query the database of every agent in turn. */
const HEAVY = /^\/experimental\//
const HEAVY_WEIGHT = 4
/** Paths that the real API never caches. */
const NOT_KEPT =
  /^\/(?:syscollector|experimental|ciscat)\/|\/(?:key|is_sync|upgrade_result)$|^\/agents\/:agent_id\/config\//

const DEFAULT_WORK = 0.4
const DEFAULT_AT_ONCE = 4

/**
 * Returns the function that creates the model of each node. Without `capacity` nodes are as fast as this process.
 * `time`: in which the work of the interpreters passes.
 */
export function createCapacityModels(capacity: NodeCapacity | undefined, time?: Time): () => CapacityModel {
  if (capacity === undefined) return unlimited
  const { scale = 1, work = DEFAULT_WORK, atOnce = DEFAULT_AT_ONCE, machines = 'own' } = capacity
  const processors = () => createInterpreters({ scale, work, atOnce }, time)
  const shared = machines === 'shared' ? processors() : undefined
  return () => limited(scale, shared ?? processors())
}

function unlimited(): CapacityModel {
  const { load, countInFlight } = countLoad()
  return {
    load,
    countInFlight,
    admit: async () => undefined,
    respond: (_, make) => make(),
    carryOut: async () => {
      load.forwarded += 1
    },
  }
}

function limited(scale: number, interpreters: Interpreters): CapacityModel {
  const { load, countInFlight } = countLoad()
  let running = 0
  const interpreted = async ({ path }: Asked, make: () => Promise<Outgoing>) => {
    if (LIGHT.has(path)) return make()
    load.interpreted += 1
    running += 1
    load.mostInterpreted = Math.max(load.mostInterpreted, running)
    await interpreters.run(HEAVY.test(path) ? HEAVY_WEIGHT : 1)
    try {
      return await make()
    } finally {
      running -= 1
    }
  }
  let forwarded: Promise<void> = Promise.resolve()
  return {
    load,
    countInFlight,
    admit: sequentially(PASSWORD_CHECK_MS / scale),
    respond: ownCache(OWN_CACHE_MS / scale, interpreted),
    carryOut: () => {
      load.forwarded += 1
      forwarded = forwarded.then(() => interpreters.run(1))
      return forwarded
    },
  }
}

/** Returns the load of a node, and the function that counts a request until its response is complete. */
export function countLoad() {
  const load = { inFlight: 0, most: 0, served: 0, interpreted: 0, mostInterpreted: 0, longest: 0, forwarded: 0 }
  const countInFlight = async <T>(serve: () => Promise<T>): Promise<T> => {
    const start = performance.now()
    load.inFlight += 1
    load.most = Math.max(load.most, load.inFlight)
    try {
      return await serve()
    } finally {
      load.inFlight -= 1
      load.served += 1
      load.longest = Math.max(load.longest, performance.now() - start)
    }
  }
  return { load, countInFlight }
}

type Interpreted = (asked: Asked, make: () => Promise<Outgoing>) => Promise<Outgoing>

/** Concurrent misses start one interpreter each; the last response is cached. */
function ownCache(milliseconds: number, interpreted: Interpreted): CapacityModel['respond'] {
  const cached = new Map<string, { readonly answer: Outgoing; readonly until: number }>()
  return async (asked, make) => {
    if (asked.method !== 'GET' || asked.bypass || NOT_KEPT.test(asked.path)) return interpreted(asked, make)
    const known = cached.get(asked.url)
    if (known !== undefined && known.until > performance.now()) return known.answer
    const answer = await interpreted(asked, make)
    cached.set(asked.url, { answer, until: performance.now() + milliseconds })
    return answer
  }
}

/** Runs one after the other, each for the given time. */
function sequentially(milliseconds: number): () => Promise<void> {
  let free = 0
  return () => {
    free = Math.max(free, performance.now()) + milliseconds
    return wait(free - performance.now())
  }
}

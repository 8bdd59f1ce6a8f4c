/** The time that a node needs for a request: none, or as much as a real node with its own cache. */
import { createInterpreters } from './interpreters.ts'
import type { Outgoing } from './wire.ts'

export interface NodeCapacity {
  /** Factor by which the node is faster than a real one; default 1. */
  readonly scale?: number
}

/** The current and past load of a node's API. */
export interface Load {
  /** Requests in flight now, and their maximum so far. */
  readonly inFlight: number
  readonly most: number
  /** Requests answered so far, and those among them that started an interpreter. */
  readonly served: number
  readonly interpreted: number
}

export interface CapacityModel {
  readonly load: Load
  /** Counts the request until its response is complete. */
  countInFlight(serve: () => Promise<Outgoing>): Promise<Outgoing>
  /** Checks a password, as for every request. */
  admit(): Promise<void>
  /** Returns the response to a GET, possibly from the node's own cache; `bypass` skips that cache. */
  respond(asked: Asked, make: () => Promise<Outgoing>): Promise<Outgoing>
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
const HEAVY_WEIGHT = 5
/** Paths that the real API never caches. */
const NOT_KEPT =
  /^\/(?:syscollector|experimental|ciscat)\/|\/(?:key|is_sync|upgrade_result)$|^\/agents\/:agent_id\/config\//

/** Without `capacity` the node is as fast as this process. */
export function createCapacityModel(capacity: NodeCapacity | undefined): CapacityModel {
  const load = { inFlight: 0, most: 0, served: 0, interpreted: 0 }
  const carry: CapacityModel['countInFlight'] = async (serve) => {
    load.inFlight += 1
    load.most = Math.max(load.most, load.inFlight)
    try {
      return await serve()
    } finally {
      load.inFlight -= 1
      load.served += 1
    }
  }
  if (capacity === undefined)
    return { load, countInFlight: carry, admit: async () => undefined, respond: (_, make) => make() }
  const { scale = 1 } = capacity
  const interpreters = createInterpreters(scale)
  const interpreted = async ({ path }: Asked, make: () => Promise<Outgoing>) => {
    if (LIGHT.has(path)) return make()
    load.interpreted += 1
    await interpreters.run(HEAVY.test(path) ? HEAVY_WEIGHT : 1)
    return make()
  }
  return {
    load,
    countInFlight: carry,
    admit: sequentially(PASSWORD_CHECK_MS / scale),
    respond: ownCache(OWN_CACHE_MS / scale, interpreted),
  }
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
    return new Promise((resolve) => setTimeout(resolve, free - performance.now()))
  }
}

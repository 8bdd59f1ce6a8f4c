/** What serving costs a node: nothing, or as much as a real one, whose own cache is part of it. */
import { createInterpreters } from './interpreters.ts'
import type { Outgoing } from './wire.ts'

export interface Frailty {
  /** So many times as fast as a real node; default 1. */
  readonly scale?: number
}

/** How busy the API of a node is and was. */
export interface Load {
  /** Requests that wait for their answer now, and the most that ever did at once. */
  readonly inFlight: number
  readonly most: number
  /** Answered so far, and how many of them an interpreter was started for. */
  readonly served: number
  readonly interpreted: number
}

export interface Burden {
  readonly load: Load
  /** Counts the request until its answer is made. */
  carry(serve: () => Promise<Outgoing>): Promise<Outgoing>
  /** Checks a password, as every request has it done. */
  admit(): Promise<void>
  /** The answer to a GET, perhaps out of the node's own cache; `bypass`: it is not looked into. */
  answer(asked: Asked, make: () => Promise<Outgoing>): Promise<Outgoing>
}

export interface Asked {
  readonly method: string
  /** As it stood in the request line: the real cache knows no other key. */
  readonly url: string
  readonly path: string
  readonly bypass: boolean
}

/** The one thread of the API checks a password in so many milliseconds, and does nothing else meanwhile. */
const PASSWORD = 20
const KEPT = 750
/** The API answers these itself. */
const LIGHT = new Set(['/', '/version'])
/** Asks every agent's database in turn. */
const HEAVY = /^\/experimental\//
const HEAVY_WEIGHT = 5
/** Never kept by the real API (contract, semantics.md section 9). */
const NOT_KEPT =
  /^\/(?:syscollector|experimental|ciscat)\/|\/(?:key|is_sync|upgrade_result)$|^\/agents\/:agent_id\/config\//

/** `frailty` absent: as fast as this process can. */
export function createBurden(frailty: Frailty | undefined): Burden {
  const load = { inFlight: 0, most: 0, served: 0, interpreted: 0 }
  const carry: Burden['carry'] = async (serve) => {
    load.inFlight += 1
    load.most = Math.max(load.most, load.inFlight)
    try {
      return await serve()
    } finally {
      load.inFlight -= 1
      load.served += 1
    }
  }
  if (frailty === undefined) return { load, carry, admit: async () => undefined, answer: (_, make) => make() }
  const { scale = 1 } = frailty
  const interpreters = createInterpreters(scale)
  const interpreted = async ({ path }: Asked, make: () => Promise<Outgoing>) => {
    if (LIGHT.has(path)) return make()
    load.interpreted += 1
    await interpreters.run(HEAVY.test(path) ? HEAVY_WEIGHT : 1)
    return make()
  }
  return { load, carry, admit: inTurn(PASSWORD / scale), answer: ownCache(KEPT / scale, interpreted) }
}

type Interpreted = (asked: Asked, make: () => Promise<Outgoing>) => Promise<Outgoing>

/** Misses at once start an interpreter each; what came last is kept. */
function ownCache(milliseconds: number, interpreted: Interpreted): Burden['answer'] {
  const kept = new Map<string, { readonly answer: Outgoing; readonly until: number }>()
  return async (asked, make) => {
    if (asked.method !== 'GET' || asked.bypass || NOT_KEPT.test(asked.path)) return interpreted(asked, make)
    const known = kept.get(asked.url)
    if (known !== undefined && known.until > performance.now()) return known.answer
    const answer = await interpreted(asked, make)
    kept.set(asked.url, { answer, until: performance.now() + milliseconds })
    return answer
  }
}

/** One after the other, each for so long. */
function inTurn(milliseconds: number): () => Promise<void> {
  let free = 0
  return () => {
    free = Math.max(free, performance.now()) + milliseconds
    return new Promise((resolve) => setTimeout(resolve, free - performance.now()))
  }
}

import { EdgeError } from '../core/errors.ts'
import type { EdgeRequest } from '../core/request.ts'
import { type Home, type Homes, isNotKnown } from './owner-lookup.ts'
/** The table of all agents and their nodes: learnt from the master, followed in the background, of bounded age. */

export interface OwnerTable {
  /** Fresh: as it is. Up to twice that: as it is, and learnt anew behind it. Older: learnt first, where that can be. */
  current(ask: EdgeRequest): Promise<Homes>
  /** What was found out about one agent meanwhile; absent: it does not exist. */
  correct(id: string, home: Home | undefined): void
}

export interface TablePorts {
  /** `age`: milliseconds that the oldest part of it was kept. */
  readonly everyone: (ask: EdgeRequest) => Promise<{ readonly homes: Map<string, Home>; readonly age: number }>
  readonly fresh: number
  readonly staleIfError: number
  readonly clock: () => number
}

interface Learnt {
  readonly homes: Map<string, Home>
  /** The moment that the oldest of its rows is of. */
  readonly asOf: number
  /** Milliseconds from which on it is learnt anew. */
  readonly pace: number
}

/** Learning may take one part in so many of the time: for 100,000 agents it takes the master a hundred calls. */
const SHARE = 10
/** Milliseconds: the quickest pace, the pause after a failure, and the wait for a master that does not answer. */
const MOMENT = 1000

export function createTable({ everyone, fresh, staleIfError, clock }: TablePorts): OwnerTable {
  let table: Learnt | undefined
  let learning: Promise<Learnt> | undefined
  let since = 0
  let failed: { readonly fault: EdgeError; readonly at: number } | undefined

  const learnt = async (ask: EdgeRequest): Promise<Learnt> => {
    const began = clock()
    try {
      const { homes, age } = await everyone(ask)
      const pace = Math.max(fresh, MOMENT, (clock() - began) * SHARE)
      table = { homes, asOf: began - age, pace }
      return table
    } catch (fault) {
      if (isNotKnown(fault)) failed = { fault, at: clock() }
      throw fault
    }
  }
  const learn = (ask: EdgeRequest): Promise<Learnt> => {
    // A master that just failed is not asked again by each request.
    if (failed !== undefined && clock() - failed.at < MOMENT) return Promise.reject(failed.fault)
    // What the master has against one caller it need not have against another.
    if (learning !== undefined)
      return learning.catch((fault) => (isOfCaller(fault) ? learn(ask) : Promise.reject(fault)))
    since = clock()
    learning = learnt(ask).finally(() => {
      learning = undefined
    })
    return learning
  }
  return {
    current: async (ask) => {
      const old = table
      if (old === undefined) return (await learn(ask)).homes
      const age = clock() - old.asOf
      if (age < old.pace) return old.homes
      const next = learn(ask)
      if (age >= old.pace + staleIfError) return (await next).homes
      const orOld = next.catch(() => old)
      return (age < 2 * old.pace ? old : await within(orOld, old, MOMENT - (clock() - since))).homes
    },
    correct: (id, home) => {
      if (home === undefined) table?.homes.delete(id)
      else table?.homes.set(id, home)
    },
  }
}

function isOfCaller(fault: unknown): boolean {
  return fault instanceof EdgeError && (fault.code === 901 || fault.code === 903)
}

/** What comes in time, or what is there. */
async function within<T>(coming: Promise<T>, instead: T, time: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, time), instead)
  })
  try {
    return await Promise.race([coming, late])
  } finally {
    clearTimeout(timer)
  }
}

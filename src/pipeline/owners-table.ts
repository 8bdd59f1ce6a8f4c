/** The table of all agents and their nodes: learnt from the master, followed in the background, of bounded age. */
import type { EdgeError } from '../errors.ts'
import { type Home, type Homes, isNotKnown } from './home.ts'
import type { Ask } from './ports.ts'

export interface OwnerTable {
  /** Fresh: as it is. Up to twice that: as it is, and learnt anew behind it. Older: learnt first, where that can be. */
  current(ask: Ask): Promise<Homes>
  /** What was found out about one agent meanwhile; absent: it does not exist. */
  correct(id: string, home: Home | undefined): void
}

export interface TablePorts {
  /** `age`: milliseconds that the oldest part of it was kept. */
  readonly everyone: (ask: Ask) => Promise<{ readonly homes: Map<string, Home>; readonly age: number }>
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
  let failed: { readonly fault: EdgeError; readonly at: number } | undefined

  const learnt = async (ask: Ask): Promise<Learnt> => {
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
  const learn = (ask: Ask): Promise<Learnt> => {
    // A master that just failed is not asked again by each request.
    if (failed !== undefined && clock() - failed.at < MOMENT) return Promise.reject(failed.fault)
    learning ??= learnt(ask).finally(() => {
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
      return (age < 2 * old.pace ? old : await within(orOld, old)).homes
    },
    correct: (id, home) => {
      if (home === undefined) table?.homes.delete(id)
      else table?.homes.set(id, home)
    },
  }
}

/** What comes in a moment, or what is there. */
async function within<T>(coming: Promise<T>, instead: T): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(resolve, MOMENT, instead)
  })
  try {
    return await Promise.race([coming, late])
  } finally {
    clearTimeout(timer)
  }
}

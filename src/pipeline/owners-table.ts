/** The table of all agents and their nodes: learnt from the master, followed in the background, of bounded age. */
import { EdgeError } from '../errors.ts'
import { type Home, NOT_KNOWN } from './owners-inquiries.ts'
import type { Ask } from './ports.ts'

export interface Table {
  readonly homes: ReadonlyMap<string, Home>
  readonly byNode: ReadonlyMap<string, readonly string[]>
  readonly nowhere: readonly string[]
}

export interface OwnerTable {
  /** Fresh: as it is. Up to twice that: as it is, and learnt anew behind it. Older: learnt first, where that can be. */
  current(ask: Ask): Promise<Table>
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

interface Learnt extends Table {
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
      table = { ...sorted(homes), homes, asOf: began - age, pace }
      return table
    } catch (fault) {
      if (fault instanceof EdgeError && fault.code === NOT_KNOWN) failed = { fault, at: clock() }
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
      if (old === undefined) return learn(ask)
      const age = clock() - old.asOf
      if (age < old.pace) return old
      const next = learn(ask)
      if (age >= old.pace + staleIfError) return next
      const orOld = next.catch(() => old)
      return age < 2 * old.pace ? old : within(orOld, old)
    },
    correct: (id, home) => {
      if (home === undefined) table?.homes.delete(id)
      else table?.homes.set(id, home)
    },
  }
}

function sorted(homes: ReadonlyMap<string, Home>): Pick<Table, 'byNode' | 'nowhere'> {
  const byNode = new Map<string, string[]>()
  const nowhere: string[] = []
  for (const [id, home] of homes) {
    if (Number(id) === 0) continue
    if (home.kind === 'nowhere') nowhere.push(id)
    if (home.kind !== 'node') continue
    const list = byNode.get(home.node)
    if (list === undefined) byNode.set(home.node, [id])
    else list.push(id)
  }
  for (const list of [...byNode.values(), nowhere]) inOrder(list)
  return { byNode, nowhere }
}

/** The master lists agents by id, and a hundred thousand of them are not sorted for nothing. */
function inOrder(ids: string[]): void {
  const sorted = ids.every((id, at) => at === 0 || Number(ids[at - 1]) <= Number(id))
  if (!sorted) ids.sort((a, b) => Number(a) - Number(b))
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

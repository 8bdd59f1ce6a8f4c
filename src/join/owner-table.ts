/** The table of all agents and their owners: read from the master, refreshed in the background, of bounded age. */
import { EdgeError } from '../core/errors.ts'
import type { EdgeRequest } from '../core/request.ts'
import { withTimeout } from '../core/timing.ts'
import { type AgentOwner, type AgentOwnerMap, isOwnerUnknownError, type OwnerLookup } from './owner-lookup.ts'

export interface OwnerTable {
  /**
   * Returns the table if it is fresh. From then to twice that age it is returned while it is refreshed; an older table is
   * refreshed first, and returned only if the master cannot be asked. Throws 931.
   */
  current(request: EdgeRequest): Promise<AgentOwnerMap>
  /** Sets the owner of one agent that was looked up since; `undefined`: the agent does not exist. */
  correct(id: string, owner: AgentOwner | undefined): void
}

export interface OwnerTablePorts {
  readonly lookup: Pick<OwnerLookup, 'findAll'>
  readonly lifetimes: () => {
    /** Milliseconds that responses about agents are fresh. */
    readonly ttl: number
    /** Milliseconds that the table may be older than its refresh interval while the master cannot be asked. */
    readonly staleIfError: number
  }
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

interface Snapshot {
  readonly owners: Map<string, AgentOwner>
  /** The time of its oldest rows, by the clock. */
  readonly asOf: number
  /** Milliseconds until it is refreshed. */
  readonly refreshInterval: number
}

/** A refresh takes at most a tenth of the time: for 100,000 agents it costs the master a hundred calls. */
const MIN_INTERVAL_PER_DURATION = 10
const MIN_REFRESH_INTERVAL_MS = 1000
const PAUSE_AFTER_FAILURE_MS = 1000
/** How long a request waits for a slow master before it takes the old table. */
const MAX_REFRESH_WAIT_MS = 1000

export function createOwnerTable({ lookup, lifetimes, clock }: OwnerTablePorts): OwnerTable {
  let snapshot: Snapshot | undefined
  let refreshing: Promise<Snapshot> | undefined
  let refreshStartedAt = 0
  let failure: { readonly error: EdgeError; readonly at: number } | undefined

  const readSnapshot = async (request: EdgeRequest): Promise<Snapshot> => {
    const startedAt = clock()
    try {
      const { owners, age } = await lookup.findAll(request)
      const duration = clock() - startedAt
      const refreshInterval = Math.max(lifetimes().ttl, MIN_REFRESH_INTERVAL_MS, duration * MIN_INTERVAL_PER_DURATION)
      snapshot = { owners, asOf: startedAt - age, refreshInterval }
      return snapshot
    } catch (error) {
      if (isOwnerUnknownError(error)) failure = { error, at: clock() }
      throw error
    }
  }
  const refresh = (request: EdgeRequest): Promise<Snapshot> => {
    if (failure !== undefined && clock() - failure.at < PAUSE_AFTER_FAILURE_MS) return Promise.reject(failure.error)
    if (refreshing !== undefined) {
      // A refusal of one caller is no failure of the master: the request tries with its own caller.
      return refreshing.catch((error) => (isErrorOfCaller(error) ? refresh(request) : Promise.reject(error)))
    }
    refreshStartedAt = clock()
    refreshing = readSnapshot(request).finally(() => {
      refreshing = undefined
    })
    return refreshing
  }
  return {
    current: async (request) => {
      const old = snapshot
      if (old === undefined) return (await refresh(request)).owners
      const age = clock() - old.asOf
      if (age < old.refreshInterval) return old.owners
      const next = refresh(request)
      if (age >= old.refreshInterval + lifetimes().staleIfError) return (await next).owners
      const nextOrOld = next.catch(() => old)
      if (age < 2 * old.refreshInterval) return old.owners
      return (await withTimeout(nextOrOld, MAX_REFRESH_WAIT_MS - (clock() - refreshStartedAt), old)).owners
    },
    correct: (id, owner) => {
      if (owner === undefined) snapshot?.owners.delete(id)
      else snapshot?.owners.set(id, owner)
    },
  }
}

/** Wrong credentials and rate limits concern one caller only. */
function isErrorOfCaller(error: unknown): boolean {
  return error instanceof EdgeError && (error.code === 901 || error.code === 903)
}

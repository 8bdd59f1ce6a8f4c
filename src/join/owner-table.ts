/** The owners of all agents, as the last list of agents has them. */
import { EdgeError } from '../core/errors.ts'
import type { EdgeRequest } from '../core/request.ts'
import { withTimeout } from '../core/timing.ts'
import { type AgentOwner, type AgentOwnerMap, isOwnerUnknownError, type OwnerLookup } from './owner-lookup.ts'

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

/** The table of all agents and their owners: read from the master, refreshed in the background, of bounded age. */
export function createOwnerTable({ lookup, lifetimes, clock }: OwnerTablePorts) {
  let snapshot: Snapshot | undefined
  /** Whether a request may still read the whole map. */
  let isInUse = false
  /** The owners of agents that were looked up after the rows of the table were read; `at`: the start of the lookup. */
  const corrections = new Map<string, { readonly owner: AgentOwner | undefined; readonly at: number }>()
  let refreshing: Promise<Snapshot> | undefined
  let refreshStartedAt = 0
  let failure: { readonly error: EdgeError; readonly at: number } | undefined

  const intervalFor = (duration: number) =>
    Math.max(lifetimes().ttl, MIN_REFRESH_INTERVAL_MS, duration * MIN_INTERVAL_PER_DURATION)
  const readSnapshot = async (request: EdgeRequest): Promise<Snapshot> => {
    const startedAt = clock()
    try {
      // A replica that reads the pages of another one has half of the interval left.
      const { owners, age, fetchTime } = await lookup.findAll(request, (ms) =>
        Math.max(lifetimes().ttl, intervalFor(ms) / 2),
      )
      const refreshInterval = intervalFor(Math.max(fetchTime, clock() - startedAt))
      const asOf = startedAt - age
      snapshot = { owners, asOf, refreshInterval }
      isInUse = false
      for (const [id, { owner, at }] of corrections) {
        if (at > asOf) setOwner(snapshot.owners, id, owner)
        else corrections.delete(id)
      }
      return snapshot
    } catch (error) {
      if (snapshot === undefined) corrections.clear()
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
  const latest = async (request: EdgeRequest): Promise<AgentOwnerMap> => {
    const old = snapshot
    if (old === undefined) return (await refresh(request)).owners
    const age = clock() - old.asOf
    if (age < old.refreshInterval) return old.owners
    const next = refresh(request)
    if (age >= old.refreshInterval + lifetimes().staleIfError) return (await next).owners
    const nextOrOld = next.catch(() => old)
    if (age < 2 * old.refreshInterval) return old.owners
    return (await withTimeout(nextOrOld, leftToWait(), old)).owners
  }
  const leftToWait = () => MAX_REFRESH_WAIT_MS - (clock() - refreshStartedAt)
  return {
    /**
     * Returns the table if it is fresh. From then to twice that age it is returned while it is refreshed; an older table is
     * refreshed first, and returned only if the master cannot be asked. Throws 931.
     */
    current: async (request: EdgeRequest): Promise<AgentOwnerMap> => {
      const owners = await latest(request)
      isInUse = true
      return owners
    },
    /** As `current`, to look a single agent up. Resolves to undefined while there is none, and a refresh takes longer: a large cluster needs many calls. */
    soon: (request: EdgeRequest): Promise<AgentOwnerMap | undefined> => {
      const owners = latest(request)
      return withTimeout(owners, leftToWait(), undefined)
    },
    /**
     * Sets the owners of agents that were looked up at this time, without those that do not exist. Rows that were read before are
     * older, also those of a later refresh, which may use pages that another replica has read. Tables in use do not change.
     */
    correct: (ids: readonly string[], found: AgentOwnerMap, startedAt: number): void => {
      if (snapshot === undefined && refreshing === undefined) return
      for (const id of ids) {
        const owner = found.get(id)
        corrections.set(id, { owner, at: startedAt })
        if (snapshot === undefined || isSame(snapshot.owners.get(id), owner)) continue
        if (isInUse) snapshot = { ...snapshot, owners: new Map(snapshot.owners) }
        isInUse = false
        setOwner(snapshot.owners, id, owner)
      }
    },
  }
}

function setOwner(owners: Map<string, AgentOwner>, id: string, owner: AgentOwner | undefined): void {
  if (owner === undefined) owners.delete(id)
  else owners.set(id, owner)
}

function isSame(a: AgentOwner | undefined, b: AgentOwner | undefined): boolean {
  return a?.kind === 'node' && b?.kind === 'node' ? a.node === b.node : a?.kind === b?.kind
}

/** Wrong credentials and rate limits concern one caller only. */
function isErrorOfCaller(error: unknown): boolean {
  return error instanceof EdgeError && (error.code === 901 || error.code === 903)
}

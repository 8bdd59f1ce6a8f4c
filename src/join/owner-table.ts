/** The owners of all agents, as the last list of agents has them. */
import type { EdgeError } from '../core/errors.ts'
import type { EdgeRequest } from '../core/request.ts'
import { withTimeout } from '../core/timing.ts'
import type { AgentOwner, AgentOwnerMap, OwnerLookup } from './owner-lookup.ts'
import { isErrorOfCaller, isOwnerUnknownError } from './owner-unknown.ts'

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

interface Table {
  readonly owners: Map<string, AgentOwner>
  /** The time of its oldest rows, by the clock. */
  readonly asOf: number
  /** Milliseconds until it is refreshed. */
  readonly refreshInterval: number
  /** Whether a request may still read the whole map. */
  isInUse: boolean
}

/** A refresh takes at most a tenth of the time: for 100,000 agents it costs the master a hundred calls. */
const MIN_INTERVAL_PER_DURATION = 10
const MIN_REFRESH_INTERVAL_MS = 1000
const PAUSE_AFTER_FAILURE_MS = 1000
/** How long a request waits for a slow master before it takes the old table. */
const MAX_REFRESH_WAIT_MS = 1000

/** The table of all agents and their owners: read from the master, refreshed in the background, of bounded age. */
export class OwnerTable {
  readonly #ports: OwnerTablePorts
  #table: Table | undefined
  #refreshing: Promise<Table> | undefined
  #refreshStartedAt = 0
  #failure: { readonly error: EdgeError; readonly at: number } | undefined
  /** The owners of agents that were looked up after the rows of the table were read; `at`: the start of the lookup. */
  readonly #corrections = new Map<string, { readonly owner: AgentOwner | undefined; readonly at: number }>()

  constructor(ports: OwnerTablePorts) {
    this.#ports = ports
  }

  /**
   * Returns the table if it is fresh. From then to twice that age it is returned while it is refreshed; an older table is
   * refreshed first, and returned only if the master cannot be asked. Throws 931.
   */
  async current(request: EdgeRequest): Promise<AgentOwnerMap> {
    const table = await this.#latest(request)
    table.isInUse = true
    return table.owners
  }

  /** As `current`, to look a single agent up. Resolves to undefined while there is none, and a refresh takes longer: a large cluster needs many calls. */
  async soon(request: EdgeRequest): Promise<AgentOwnerMap | undefined> {
    const latest = this.#latest(request)
    return (await withTimeout(latest, this.#leftToWait(), undefined))?.owners
  }

  /**
   * Sets the owners of agents that were looked up at this time, without those that do not exist. Rows that were read before are
   * older, also those of a later refresh, which may use pages that another replica has read. Tables in use do not change.
   */
  correct(ids: readonly string[], found: AgentOwnerMap, startedAt: number): void {
    if (this.#table === undefined && this.#refreshing === undefined) return
    for (const id of ids) {
      const owner = found.get(id)
      this.#corrections.set(id, { owner, at: startedAt })
      if (this.#table === undefined || isSame(this.#table.owners.get(id), owner)) continue
      if (this.#table.isInUse) this.#table = { ...this.#table, owners: new Map(this.#table.owners), isInUse: false }
      setOwner(this.#table.owners, id, owner)
    }
  }

  async #latest(request: EdgeRequest): Promise<Table> {
    const old = this.#table
    if (old === undefined) return this.#refreshed(request)
    const { clock, lifetimes } = this.#ports
    const age = clock() - old.asOf
    if (age < old.refreshInterval) return old
    const next = this.#refreshed(request)
    if (age >= old.refreshInterval + lifetimes().staleIfError) return next
    const nextOrOld = next.catch(() => old)
    return age < 2 * old.refreshInterval ? old : withTimeout(nextOrOld, this.#leftToWait(), old)
  }

  #leftToWait(): number {
    return MAX_REFRESH_WAIT_MS - (this.#ports.clock() - this.#refreshStartedAt)
  }

  #refreshed(request: EdgeRequest): Promise<Table> {
    const now = this.#ports.clock()
    const failure = this.#failure
    if (failure !== undefined && now - failure.at < PAUSE_AFTER_FAILURE_MS) return Promise.reject(failure.error)
    // A refusal of one caller is no failure of the master: the request tries with its own caller.
    const underWay = this.#refreshing?.catch((error) =>
      isErrorOfCaller(error) ? this.#refreshed(request) : Promise.reject(error),
    )
    if (underWay !== undefined) return underWay
    this.#refreshStartedAt = now
    this.#refreshing = this.#read(request).finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  async #read(request: EdgeRequest): Promise<Table> {
    const { clock, lookup, lifetimes } = this.#ports
    const startedAt = clock()
    try {
      // A replica that reads the pages of another one has half of the interval left.
      const { owners, age, fetchTime } = await lookup.findAll(request, (ms) =>
        Math.max(lifetimes().ttl, this.#intervalFor(ms) / 2),
      )
      const refreshInterval = this.#intervalFor(Math.max(fetchTime, clock() - startedAt))
      const asOf = startedAt - age
      for (const [id, { owner, at }] of this.#corrections) {
        if (at > asOf) setOwner(owners, id, owner)
        else this.#corrections.delete(id)
      }
      this.#table = { owners, asOf, refreshInterval, isInUse: false }
      return this.#table
    } catch (error) {
      if (this.#table === undefined) this.#corrections.clear()
      if (isOwnerUnknownError(error)) this.#failure = { error, at: clock() }
      throw error
    }
  }

  #intervalFor(duration: number): number {
    return Math.max(this.#ports.lifetimes().ttl, MIN_REFRESH_INTERVAL_MS, duration * MIN_INTERVAL_PER_DURATION)
  }
}

function setOwner(owners: Map<string, AgentOwner>, id: string, owner: AgentOwner | undefined): void {
  if (owner === undefined) owners.delete(id)
  else owners.set(id, owner)
}

function isSame(a: AgentOwner | undefined, b: AgentOwner | undefined): boolean {
  return a?.kind === 'node' && b?.kind === 'node' ? a.node === b.node : a?.kind === b?.kind
}

/**
 * The nodes that an operator has drained for maintenance, and which ones may be drained. The edge sends them no calls, not
 * even probes: calls in flight finish, queued ones are rejected, and further ones fail at once, so that reads go to other
 * nodes where others can answer. Replicas share the drains as one of the counters. Each reads them with its heartbeat, and uses
 * those that it knows while Redis is unreachable. If Redis has lost them, or has older ones after a fail-over, it writes them back.
 */

import type { Counters } from '../core/counters.ts'
import { EdgeError } from '../core/errors.ts'
import type { NodeCall, NodeFailure } from '../core/node-call.ts'
import { notSent } from './call.ts'
import {
  type DrainRequest,
  hasEnded,
  stateWithDrain,
  stateWithoutDrain,
  type View,
  withoutEnded,
} from './drain-rules.ts'
import { type Drain, type DrainState, formatDrainState, NO_DRAINS, parseDrainState } from './drain-state.ts'
import type { ClusterLog } from './options.ts'

/** Seconds. Maintenance takes minutes. */
const RETRY_AFTER_SECONDS = 30

/** The rejection of a call to a drained node. */
export const DRAINED = { ok: false, fault: 'drained', reason: 'drained', retryAfter: RETRY_AFTER_SECONDS } as const

/** Returns the result of a call that the asked node would pass on to a drained one; it is not sent. */
export function passedOnToDrained(call: NodeCall, drained: string): NodeFailure {
  return notSent(call, { ...DRAINED, reason: 'otherDrained', about: drained })
}

interface DrainsOptions {
  readonly view: View
  readonly counters: Pick<Counters, 'update' | 'onBeat'>
  /** Whether a change applies to all replicas. */
  readonly areShared: boolean
  readonly verifiesUsersAtMaster: boolean
  readonly log: ClusterLog
  /** Called after each change, with the names of nodes whose drain has begun, and of those whose drain has ended. */
  readonly onChange: (drained: readonly string[], putBack: readonly string[]) => void
}

/** The drains in effect, by node. */
export type DrainedNodes = ReadonlyMap<string, Drain>

/** Of several attempts to remove an ended drain while Redis is unreachable. It has no effect on calls by then. */
const RETRY_MS = 2000

const NAME = 'drains'
/** A drain without an end stays until an operator ends it. Replicas that run write the drains back before they are forgotten. */
const STORED_MS = 366 * 24 * 3_600_000

export class Drains {
  readonly #options: DrainsOptions
  readonly #endListeners: ((drain: Drain) => void)[] = []
  #state = NO_DRAINS
  readonly #drained = new Map<string, Drain>()
  /** The drains in effect, by node: at any time those of this moment. */
  readonly drained: DrainedNodes = this.#drained
  readonly areShared: boolean
  readonly #endReading: () => void
  #timer: NodeJS.Timeout | undefined

  constructor(options: DrainsOptions) {
    this.#options = options
    this.areShared = options.areShared
    this.#endReading = options.counters.onBeat(() => void this.start())
  }

  /** Calls `listener` on one replica with each drain whose end was reached. */
  onEnd(listener: (drain: Drain) => void): void {
    this.#endListeners.push(listener)
  }

  /**
   * Resolves to the drain in effect. A reason or an end replaces those of a drained node. Rejects with 603 or 940 if the node
   * cannot be drained, and with 941 if Redis is unreachable.
   */
  async drain(request: Omit<DrainRequest, 'verifiesUsersAtMaster'>): Promise<Drain | undefined> {
    const { view, verifiesUsersAtMaster } = this.#options
    const checked = { ...request, verifiesUsersAtMaster }
    const { drains } = await this.#update((state) => stateWithDrain(state, checked, view, Date.now()))
    return drains.find(({ node }) => node === request.node)
  }

  /** Rejects with 603 for an unknown node, and with 941 if Redis is unreachable. */
  async putBack(node: string): Promise<void> {
    await this.#update((state) => stateWithoutDrain(state, node, this.#options.view, Date.now()))
  }

  /** Resolves when the drained nodes are known, or when Redis is unreachable. No node may be called before. */
  async start(): Promise<void> {
    await this.#update((state) => state).catch(() => undefined)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#endReading()
  }

  /** Changes the drains of all replicas. Rejects as `change` does, and with 941 if Redis is unreachable. */
  async #update(change: (state: DrainState) => DrainState): Promise<DrainState> {
    // A rule must not throw.
    const changed = await this.#options.counters.update([NAME], (texts, { isShared }) => {
      const stored = parseDrainState(texts.get(NAME))
      const isOlder = stored === undefined || stored.revision < this.#state.revision
      try {
        if (!isShared) throw new EdgeError(941)
        const state = change(isOlder ? this.#state : stored)
        if (state !== stored && state !== NO_DRAINS) texts.set(NAME, formatDrainState(state), STORED_MS)
        return { state }
      } catch (error) {
        return { error }
      }
    })
    if ('error' in changed) throw changed.error
    this.#take(changed.state)
    return changed.state
  }

  #take(state: DrainState): void {
    if (formatDrainState(state) === formatDrainState(this.#state)) return
    this.#state = state
    this.#apply()
  }

  /** An ended drain has no effect at once, on each replica by its own clock, also while Redis is unreachable. */
  #apply(): void {
    const { drains } = this.#state
    const now = Date.now()
    this.#replace(drains.filter((drain) => !hasEnded(drain, now)))
    clearTimeout(this.#timer)
    const ends = drains.flatMap(({ until }) => until ?? [])
    if (ends.length === 0) return
    const next = Math.min(...ends) - now
    this.#timer = setTimeout(() => void this.#removeEnded(), next <= 0 ? RETRY_MS : next).unref()
  }

  /** Each replica tries it. The one that has changed the state reports the end. */
  async #removeEnded(): Promise<void> {
    this.#apply()
    let ended: readonly Drain[] = []
    const isDone = await this.#update((state) => {
      const now = Date.now()
      ended = state.drains.filter((drain) => hasEnded(drain, now))
      return withoutEnded(state, now)
    }).catch(() => undefined)
    if (isDone) for (const drain of ended) for (const listener of this.#endListeners) listener(drain)
  }

  /** Names that no node has are without effect until a node has them. */
  #replace(drains: readonly Drain[]): void {
    const { log, onChange } = this.#options
    const before = new Set(this.#drained.keys())
    this.#drained.clear()
    for (const drain of drains) this.#drained.set(drain.node, drain)
    const drained = drains.filter(({ node }) => !before.has(node))
    const putBack = [...before].filter((node) => !this.#drained.has(node))
    for (const { node, by, reason, until } of drained) {
      const more = { ...(reason && { reason }), ...(until && { until: new Date(until).toISOString() }) }
      log('info', 'node drained for maintenance', { node, by, ...more })
    }
    for (const node of putBack) log('info', 'node put back', { node })
    const newlyDrained = drained.map(({ node }) => node)
    if (newlyDrained.length + putBack.length > 0) onChange(newlyDrained, putBack)
  }
}

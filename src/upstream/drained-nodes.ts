/**
 * The nodes that an operator has drained for maintenance. The edge sends them no calls, not even probes: calls in flight
 * finish, queued ones are rejected, and further ones fail at once, so that reads go to other nodes where others can answer.
 */
import type { Drain } from '../core/drains.ts'
import type { NodeCall, NodeResult } from '../core/node-call.ts'

/** Seconds. Maintenance takes minutes. */
const RETRY_AFTER_SECONDS = 30
const DETAIL = 'drained for maintenance'

type LogInfo = (level: 'info', message: string, fields: Readonly<Record<string, string>>) => void

export interface DrainChange {
  readonly drained: readonly string[]
  readonly putBack: readonly string[]
}

export class DrainedNodes {
  readonly #log: LogInfo
  readonly #listeners: ((change: DrainChange) => void)[] = []
  #drains: ReadonlyMap<string, Drain> = new Map()

  constructor(log: LogInfo) {
    this.#log = log
  }

  has(node: string): boolean {
    return this.#drains.has(node)
  }

  find(node: string): Drain | undefined {
    return this.#drains.get(node)
  }

  /** Calls `listener` after each change. */
  onChange(listener: (change: DrainChange) => void): void {
    this.#listeners.push(listener)
  }

  /** Replaces the drained nodes. Names that no node has are without effect until a node has them. */
  replace(drains: readonly Drain[]): void {
    const before = this.#drains
    this.#drains = new Map(drains.map((drain) => [drain.node, drain]))
    const drained = drains.filter(({ node }) => !before.has(node))
    const putBack = [...before.keys()].filter((node) => !this.#drains.has(node))
    for (const { node, by } of drained) this.#log('info', 'node drained for maintenance', { node, by })
    for (const node of putBack) this.#log('info', 'node put back', { node })
    if (drained.length + putBack.length === 0) return
    for (const listener of this.#listeners) listener({ drained: drained.map(({ node }) => node), putBack })
  }
}

/** The rejection of a call to a drained node. */
export const DRAINED = { ok: false, fault: 'drained', detail: DETAIL, retryAfter: RETRY_AFTER_SECONDS } as const

/** Returns the result of a call that the asked node would pass on to a drained one; it is not sent. */
export function passedOnToDrained({ node }: NodeCall, drained: string): NodeResult {
  return { ...DRAINED, node, sent: false, detail: `${drained} is ${DETAIL}` }
}

/**
 * Calls that the asked node passes on to another node. If that node is cut off, and the cluster has not noticed yet, such
 * a call hangs for 200 seconds at the asked node, which answers other calls meanwhile. So these calls have a time limit of
 * their own, and use half of the slots at most. After one that hangs, calls for the same node fail at once, for a time
 * that doubles with each further hang. Then one call is the probe.
 */

import {
  type ClusterView,
  type NodeCall,
  type NodeFailure,
  type NodeInfo,
  type NodeResult,
  nodeOfAgent,
  type PassedOnTo,
} from '../../core/node-call.ts'
import { growingLru } from '../../core/recently-used.ts'
import { Semaphore } from '../../core/semaphore.ts'
import { ownField } from '../../core/values.ts'
import { dataIn, encode } from '../../layouts/dialect.ts'
import { ABANDONED } from '../abandoned-calls.ts'
import { notSent, type Send, takeSlot } from '../call.ts'
import { type DrainedNodes, passedOnToDrained } from '../drains.ts'
import { isTimeoutInside } from '../node-problems.ts'
import type { ClusterSettings } from '../options.ts'
import { createOwnCall } from '../probes.ts'
import { Suspicion } from './suspicion.ts'

interface PassedOnCallsPorts extends Pick<ClusterSettings, 'limits' | 'hangTimeout' | 'ejection' | 'log' | 'clock'> {
  readonly view: Pick<ClusterView, 'nodes'>
  readonly drained: DrainedNodes
}

const MAX_KNOWN_OWNERS = 10_000
const OWNER_LIFETIME_MS = 60_000
const OWNER_TIMEOUT_MS = 5_000
/** A status takes some milliseconds. A read that waits for it must have time left. */
const MAX_STATUS_MS = 4_000

/** A node by its name, or an agent whose node is not known, as `agent 001`. */
type Target = string

export class PassedOnCalls {
  readonly #ports: PassedOnCallsPorts
  /** The nodes that agents report to, as the master names them in the v4 layout, by the id of the agent. */
  readonly #owners = growingLru<string, { readonly node: string; readonly until: number }>(MAX_KNOWN_OWNERS)
  readonly #slots: Semaphore
  readonly #suspects = new Map<Target, Suspicion>()
  #search: Promise<void> | undefined

  constructor(ports: PassedOnCallsPorts) {
    this.#ports = ports
    this.#slots = new Semaphore(() => Math.ceil(ports.limits().inFlight / 2))
  }

  /** Milliseconds until the node is probed; `undefined`: calls for it are sent. */
  cutOffFor(node: string): number | undefined {
    return this.#suspects.get(node)?.remaining
  }

  /** Sends a call with `passedOnTo`. `next`: sends the call to the asked node. */
  async send(call: NodeCall, next: Send): Promise<NodeResult> {
    const drained = this.#drainedTargetOf(call)
    if (drained !== undefined) return passedOnToDrained(call, drained)
    const suspects = await this.#suspectsOf(call, next)
    if (call.reportsLostNodes === true && suspects.some((target) => this.#isNode(target))) {
      for (const target of suspects) if (this.#isNode(target)) void this.#probe(target, call, next)
      return heldBack(call, suspects, 1)
    }
    const probed: Suspicion[] = []
    try {
      for (const target of suspects) {
        const suspicion = this.#suspects.get(target)
        const retryAfter = suspicion?.admit()
        if (retryAfter !== undefined) return heldBack(call, [target], retryAfter)
        if (suspicion !== undefined) probed.push(suspicion)
      }
      return await this.#sendProbing(probed, call, next)
    } finally {
      for (const suspicion of probed) suspicion.endProbe()
    }
  }

  /** `probed`: the suspicions whose probe the call is. */
  async #sendProbing(probed: readonly Suspicion[], call: NodeCall, next: Send): Promise<NodeResult> {
    const fault = await takeSlot(this.#slots, call)
    if (fault === 'abandoned') return notSent(call, ABANDONED)
    if (fault !== undefined) return notSent(call, { fault: 'overloaded', reason: 'passedOnQueued', retryAfter: 1 })
    let result: NodeResult
    try {
      result = await next(isLimited(call) ? { ...call, hangsAfter: this.#ports.hangTimeout } : call)
    } finally {
      this.#slots.release()
    }
    await this.#learn(call, result, probed, next)
    if (result.ok || result.hung !== true || call.method !== 'GET' || call.reportsLostNodes !== true) return result
    return { ...result, lostNodes: await this.#suspectsOf(call, next) }
  }

  /** Returns the drained node that the call names. Calls for an agent or several nodes name none: the manager decides. */
  #drainedTargetOf({ passedOnTo: target }: NodeCall): string | undefined {
    if (target === undefined || isSeveral(target) || !('node' in target)) return undefined
    return this.#ports.drained.has(target.node) ? target.node : undefined
  }

  /** Returns the suspects that the call concerns. Agents are looked up only while there are any. */
  async #suspectsOf(call: NodeCall, next: Send): Promise<readonly Target[]> {
    if (this.#suspects.size === 0) return []
    const { passedOnTo: target } = call
    if (target === undefined) return []
    if (isSeveral(target)) {
      const others = target === 'several' ? [] : target.without
      const isConcerned = (name: Target) => !others.includes(name) && (!call.reportsLostNodes || this.#isNode(name))
      return [...this.#suspects.keys()].filter(isConcerned)
    }
    const names = 'node' in target ? [target.node] : await this.#targetsOfAgent(target, call, next)
    return names.filter((name) => this.#suspects.has(name))
  }

  #isNode(target: Target): boolean {
    return this.#ports.view.nodes().some(({ name }) => name === target)
  }

  async #targetsOfAgent({ agent }: { readonly agent: string }, call: NodeCall, next: Send): Promise<readonly Target[]> {
    const unknown = `agent ${agent}`
    const owner = await this.#findOwner(agent, call, next)
    return owner === undefined ? [unknown] : owner === call.node ? [] : [owner, unknown]
  }

  /** Returns `undefined` if the node that `call` asks does not answer, or does not know. `call`: on whose behalf. */
  async #findOwner(agent: string, call: NodeCall, next: Send): Promise<string | undefined> {
    const { clock } = this.#ports
    const known = this.#owners.get(agent)
    if (known !== undefined && clock() < known.until) return known.node
    const own = createOwnCall({
      ...onBehalfOf(call),
      path: `/agents?agents_list=${encode(agent)}&select=node_name`,
      endpoint: 'GET /agents',
      timeout: OWNER_TIMEOUT_MS,
      caller: 'owners',
      requestId: 'owners',
      signal: call.signal,
    })
    const node = ownerIn(await next(own))
    if (node !== undefined) this.#owners.set(agent, { node, until: clock() + OWNER_LIFETIME_MS })
    return node
  }

  /** Records what the result shows about the nodes that the call concerns. */
  async #learn(call: NodeCall, result: NodeResult, probed: readonly Suspicion[], next: Send): Promise<void> {
    const { passedOnTo: target, reportsLostNodes } = call
    if (target === undefined) return
    const isHang = result.ok ? isTimeoutInside(result.response, call.node) : result.hung === true
    // A command to several nodes has no time limit of its own, so the client waits no longer.
    if (reportsLostNodes && isSeveral(target) && !result.ok && result.fault === 'timeout' && result.sent && !isHang)
      void this.#findLost(call, next)
    if (!isHang) {
      if (result.ok) this.#clear(probed)
      return
    }
    if (isSeveral(target)) {
      const search = this.#findLost(call, next)
      if (reportsLostNodes && call.method === 'GET') await search
    } else if ('node' in target) this.#suspect(target.node, call.node)
    else for (const name of (await this.#targetsOfAgent(target, call, next)).slice(0, 1)) this.#suspect(name, call.node)
  }

  /** Asks for the status of each worker, and suspects those for which the call hangs as well. One search at a time. */
  #findLost(call: NodeCall, next: Send): Promise<void> {
    this.#search ??= this.#askWorkers(call, next).finally(() => {
      this.#search = undefined
    })
    return this.#search
  }

  async #askWorkers(call: NodeCall, next: Send): Promise<void> {
    const { view, drained } = this.#ports
    const isAsked = ({ name, type }: NodeInfo) => name === call.node || (type === 'worker' && !drained.has(name))
    const asked = view.nodes().filter(isAsked)
    const results = await Promise.all(asked.map(({ name }) => this.#askStatus(name, call, next)))
    const hung = results.flatMap(({ probe, result }) => (isHung(result) ? probe.passedOnTo.node : []))
    // If the asked node itself is slow, the others show nothing.
    if (!hung.includes(call.node)) for (const name of hung) this.#suspect(name, call.node)
  }

  async #askStatus(name: string, call: NodeCall, next: Send) {
    const { hangTimeout } = this.#ports
    const own = createOwnCall({
      ...onBehalfOf(call),
      path: `/cluster/${encodeURIComponent(name)}/status`,
      endpoint: 'GET /cluster/:node_id/status',
      timeout: 2 * hangTimeout,
      caller: 'probe',
      requestId: 'probe',
    })
    const probe = { ...own, passedOnTo: { node: name }, hangsAfter: Math.min(hangTimeout, MAX_STATUS_MS) }
    return { probe, result: await next(probe) }
  }

  /** Probes a lost node if it is time for it. No client waits for the probe. */
  async #probe(target: Target, call: NodeCall, next: Send): Promise<void> {
    const suspicion = this.#suspects.get(target)
    if (suspicion === undefined || suspicion.admit() !== undefined) return
    const { probe, result } = await this.#askStatus(target, call, next)
    await this.#learn(probe, result, [suspicion], next)
    suspicion.endProbe()
  }

  #suspect(target: Target, through: string): void {
    const { clock, log, ejection } = this.#ports
    const suspicion = this.#suspects.get(target) ?? new Suspicion(ejection.cutOff, clock)
    this.#suspects.set(target, suspicion)
    // A call that was sent before the suspicion is no new evidence.
    if (suspicion.remaining > 0) return
    suspicion.begin()
    const seconds = Math.ceil(suspicion.remaining / 1000)
    log('warn', 'node does not answer calls that another node passes on', { node: target, through, seconds })
  }

  #clear(probed: readonly Suspicion[]): void {
    for (const [target, suspicion] of this.#suspects) {
      if (!probed.includes(suspicion)) continue
      this.#suspects.delete(target)
      this.#ports.log('info', 'node answers calls that another node passes on again', { node: target })
    }
  }
}

function isHung(result: NodeResult): boolean {
  return !result.ok && result.hung === true
}

/**
 * A command to agents of all nodes may take longer than a call that hangs, and so may a request that waits for completion.
 * The asked node ends them after 200 seconds.
 */
function isLimited({ timeout, passedOnTo, method }: NodeCall): boolean {
  return timeout !== undefined && (method === 'GET' || passedOnTo === undefined || !isSeveral(passedOnTo))
}

function isSeveral(target: PassedOnTo): target is 'several' | { readonly without: readonly string[] } {
  return target === 'several' || 'without' in target
}

/** Returns the failure of a call that is not sent because of lost nodes. `retryAfter` in seconds. */
function heldBack(call: NodeCall, lostNodes: readonly Target[], retryAfter: number): NodeFailure {
  const about = lostNodes.join(', ')
  return { ...notSent(call, { fault: 'timeout', reason: 'passedOnStuck', about, retryAfter }), lostNodes }
}

function ownerIn(result: NodeResult): string | undefined {
  const rows = ownField(dataIn(result), 'affected_items')
  return Array.isArray(rows) ? nodeOfAgent(rows[0]) : undefined
}

/** Returns what an own call for another call has in common with it. */
function onBehalfOf({ node, credentials, token }: NodeCall): Pick<NodeCall, 'node' | 'credentials' | 'token'> {
  return { node, ...(credentials && { credentials }), ...(token && { token }) }
}

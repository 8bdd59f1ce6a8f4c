/**
 * Calls that the asked node passes on to another node. If that node is cut off, and the cluster has not noticed yet, such
 * a call hangs for 200 seconds at the asked node, which answers other calls meanwhile. So these calls have a time limit of
 * their own, and use half of the slots at most. After one that hangs, calls for the same node fail at once, for a time
 * that doubles with each further hang. Then one call is the probe.
 */
import type { NodeCall, NodeFailure, NodeInfo, NodeResult } from '../../core/node-call.ts'
import { Semaphore } from '../../core/semaphore.ts'
import { ABANDONED } from '../abandoned-calls.ts'
import { copyWith, notSent, type Send, takeSlot } from '../call.ts'
import { passedOnToDrained } from '../drains.ts'
import { isTimeoutInside } from '../node-problems.ts'
import type { ClusterSettings } from '../options.ts'
import { createOwnCall } from '../probes.ts'
import {
  isSeveral,
  onBehalfOf,
  type PassedOnCall,
  PassedOnTargets,
  type Probes,
  type Target,
  type TargetsOptions,
} from './passed-on-targets.ts'
import { Suspicion } from './suspicion.ts'

type PassedOnOptions = TargetsOptions & Pick<ClusterSettings, 'limits' | 'hangTimeout' | 'ejection' | 'log'>

/** A status takes some milliseconds. A read that waits for it must have time left. */
const MAX_STATUS_MS = 4_000
const ALL_SLOTS_TAKEN = { fault: 'overloaded', reason: 'passedOnQueued', retryAfter: 1 } as const

export class PassedOnCalls {
  readonly #options: PassedOnOptions
  readonly #targets: PassedOnTargets
  readonly #slots: Semaphore
  readonly #suspects = new Map<Target, Suspicion>()
  #search: Promise<void> | undefined

  constructor(options: PassedOnOptions) {
    this.#options = options
    this.#targets = new PassedOnTargets(options)
    this.#slots = new Semaphore(() => Math.ceil(options.limits().inFlight / 2))
  }

  /** Milliseconds until the node may be probed, 0 during the probe; `undefined`: the next call for it is sent. */
  cutOffFor(node: string): number | undefined {
    const suspicion = this.#suspects.get(node)
    return suspicion?.isDue ? undefined : suspicion?.remaining
  }

  /** `next`: sends the call to the asked node. */
  async send(call: PassedOnCall, next: Send): Promise<NodeResult> {
    const drained = this.#targets.drainedOf(call)
    if (drained !== undefined) return passedOnToDrained(call, drained)
    const start = this.#options.clock()
    const withTimeLeft = () =>
      call.timeout === undefined ? call : { ...call, timeout: call.timeout - (this.#options.clock() - start) }
    const suspects = await this.#suspectsOf(call, next)
    const lost = call.reportsLostNodes === true ? suspects.filter((target) => this.#targets.isNode(target)) : []
    for (const node of lost) void this.#probe(node, call, next)
    if (lost.length > 0) return heldBack(call, suspects, 1)
    const probed: Probes = new Map()
    for (const target of suspects) {
      const retryAfter = this.#suspects.get(target)?.admit()
      if (retryAfter !== undefined) {
        this.#endProbes(probed)
        return heldBack(call, [target], retryAfter)
      }
      probed.set(target, this.#suspects.get(target)?.probeStart)
    }
    const fault = await takeSlot(this.#slots, withTimeLeft())
    if (fault === undefined) return this.#sendProbing(probed, withTimeLeft(), next)
    this.#endProbes(probed)
    return notSent(call, fault === 'abandoned' ? ABANDONED : ALL_SLOTS_TAKEN)
  }

  /** Sends a call that has a slot, and releases the slot. `probed`: the suspects whose probe the call is. */
  async #sendProbing(probed: Probes, call: PassedOnCall, next: Send): Promise<NodeResult> {
    let result: NodeResult
    try {
      result = await next(isLimited(call) ? copyWith(call, { hangsAfter: this.#options.hangTimeout }) : call)
    } finally {
      this.#slots.release()
    }
    const learned = this.#learn(call, result, probed, next).finally(() => this.#endProbes(probed))
    if (result.ok || result.hung !== true || call.method !== 'GET' || call.reportsLostNodes !== true) return result
    await learned
    return { ...result, lostNodes: await this.#suspectsOf(call, next) }
  }

  /** Returns the suspects that the call concerns. Agents are looked up only while there are any. */
  async #suspectsOf(call: PassedOnCall, next: Send): Promise<readonly Target[]> {
    const { passedOnTo: target, reportsLostNodes } = call
    for (const [name, suspicion] of this.#suspects) if (suspicion.hasExpired) this.#suspects.delete(name)
    const suspects = [...this.#suspects.keys()]
    if (suspects.length === 0 && !this.#targets.isLookedUp(target)) return []
    if (!isSeveral(target)) {
      const names = await this.#targets.of(target, call, next)
      return names.filter((name) => name !== call.node && this.#suspects.has(name))
    }
    const others = target === 'several' ? [] : target.without
    return suspects.filter((name) => !others.includes(name) && (!reportsLostNodes || this.#targets.isNode(name)))
  }

  /** Records what the result shows about the nodes that the call concerns. */
  async #learn(call: PassedOnCall, result: NodeResult, probed: Probes, next: Send): Promise<void> {
    const { passedOnTo: target, reportsLostNodes } = call
    const isHang = result.ok ? isTimeoutInside(result.response, call.node) : isHung(result)
    if (result.ok && !isHang) this.#clear(probed)
    else if (isSeveral(target)) {
      // A command to several nodes has no separate time limit, so the client waits no longer.
      const isLate = reportsLostNodes && !result.ok && result.fault === 'timeout' && result.sent
      if (isHang || isLate) await this.#findLost(call, next)
    } else if (isHang) {
      const [likeliest] = await this.#targets.of(target, call, next)
      if (likeliest !== undefined && likeliest !== call.node) this.#suspect(likeliest, call.node)
    }
  }

  /** Asks for the status of each worker, and suspects those for which the call hangs as well. One search at a time. */
  #findLost(call: NodeCall, next: Send): Promise<void> {
    this.#search ??= this.#askWorkers(call, next).finally(() => {
      this.#search = undefined
    })
    return this.#search
  }

  async #askWorkers(call: NodeCall, next: Send): Promise<void> {
    const { view, drained } = this.#options
    const isAsked = ({ name, type }: NodeInfo) => name === call.node || (type === 'worker' && !drained.has(name))
    const asked = view.nodes().filter(isAsked)
    const results = await Promise.all(asked.map(({ name }) => this.#askStatus(name, call, next)))
    const hung = results.flatMap(({ probe, result }) => (isHung(result) ? probe.passedOnTo.node : []))
    // If the asked node itself is slow, the others show nothing.
    if (!hung.includes(call.node)) for (const name of hung) this.#suspect(name, call.node)
  }

  async #askStatus(name: string, call: NodeCall, next: Send) {
    const { hangTimeout } = this.#options
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
  async #probe(node: string, call: NodeCall, next: Send): Promise<void> {
    if (this.#suspects.get(node)?.admit() !== undefined) return
    const probed = new Map([[node, this.#suspects.get(node)?.probeStart]])
    const { probe, result } = await this.#askStatus(node, call, next)
    await this.#learn(probe, result, probed, next)
    this.#endProbes(probed)
  }

  #endProbes(probed: Probes): void {
    for (const [target, start] of probed) this.#suspects.get(target)?.endProbe(start)
  }

  #suspect(target: Target, through: string): void {
    const { clock, log, ejection } = this.#options
    const suspicion = this.#suspects.get(target) ?? new Suspicion(ejection.cutOff, clock)
    this.#suspects.set(target, suspicion)
    // A call that was sent before the suspicion is no new evidence.
    if (suspicion.remaining > 0) return
    suspicion.begin()
    const seconds = Math.ceil(suspicion.remaining / 1000)
    log('warn', 'node does not answer calls that another node passes on', { node: target, through, seconds })
  }

  #clear(probed: Probes): void {
    for (const target of probed.keys())
      if (this.#suspects.delete(target))
        this.#options.log('info', 'node answers calls that another node passes on again', { node: target })
  }
}

function isHung(result: NodeResult): boolean {
  return !result.ok && result.hung === true
}

/**
 * A command to agents of all nodes may take longer than a call that hangs, and so may a request that waits for completion.
 * The asked node ends them after 200 seconds.
 */
function isLimited({ timeout, passedOnTo, method }: PassedOnCall): boolean {
  return timeout !== undefined && (method === 'GET' || !isSeveral(passedOnTo))
}

/** Returns the failure of a call that is not sent because of lost nodes. `retryAfter` in seconds. */
function heldBack(call: NodeCall, lostNodes: readonly Target[], retryAfter: number): NodeFailure {
  const about = lostNodes.join(', ')
  return { ...notSent(call, { fault: 'timeout', reason: 'passedOnStuck', about, retryAfter }), lostNodes }
}

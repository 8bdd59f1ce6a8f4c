/**
 * Calls that the asked node passes on to another node. If that node is cut off, and the cluster has not noticed yet, such
 * a call hangs for 200 seconds at the asked node, which answers other calls meanwhile. So these calls have a time limit of
 * their own, and use half of the slots at most. After one that hangs, calls for the same node fail at once, for a time
 * that doubles with each further hang. Then one call is the probe.
 */
import type { ClusterView, NodeCall, NodeFailure, NodeInfo, NodeResult } from '../core/node-call.ts'
import { startDeadline } from '../core/timing.ts'
import { type DrainedNodes, passedOnToDrained } from './drains.ts'
import { Health } from './health.ts'
import { type Layer, notSent, onEnd, type Send } from './layer.ts'
import { isTimeoutInside } from './node-problems.ts'
import type { ClusterLog, FailureSettings, NodeLimits } from './options.ts'
import { OwnerNames } from './owner-names.ts'
import { createOwnCall } from './probes.ts'
import { type Turn, Turns } from './turns.ts'

export interface PassedOnCallsPorts {
  readonly view: Pick<ClusterView, 'nodes' | 'master'>
  readonly drains: Pick<DrainedNodes, 'has'>
  readonly limits: () => Pick<NodeLimits, 'inFlight'>
  /** Milliseconds on the asked node after which a call counts as hanging. */
  readonly hangTimeout: number
  readonly log: ClusterLog
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

/** One hang is enough. The cluster itself notices after 110 seconds. */
const SUSPICION: FailureSettings = { failures: 1, refusals: 1, hangs: 1, baseTime: 15_000, maxTime: 120_000 }

/** A node by its name, or an agent whose node is not known, as `agent 001`. */
type Target = string

type Admission = { readonly target: Target; readonly health: Health; readonly isProbe: boolean }

export class PassedOnCalls {
  readonly #ports: PassedOnCallsPorts
  readonly #owners: OwnerNames
  readonly #turns: Turns
  readonly #suspects = new Map<Target, Health>()

  constructor(ports: PassedOnCallsPorts) {
    this.#ports = ports
    this.#owners = new OwnerNames(ports.clock)
    this.#turns = new Turns(() => Math.ceil(ports.limits().inFlight / 2))
  }

  /** Milliseconds until the node is probed; `undefined`: calls for it are sent. */
  cutOffFor(node: string): number | undefined {
    return this.#suspects.get(node)?.ejectedFor
  }

  readonly limit: Layer = (next) => (call) => (call.passedOnTo === undefined ? next(call) : this.#send(call, next))

  async #send(call: NodeCall, next: Send): Promise<NodeResult> {
    const drained = this.#drainedTargetOf(call)
    if (drained !== undefined) return passedOnToDrained(call, drained)
    const admissions: Admission[] = []
    for (const target of await this.#suspectsOf(call, next)) {
      const health = this.#suspects.get(target)
      const admission = health?.admit()
      if (health === undefined || admission === undefined) continue
      if (!admission.ok) {
        for (const each of admissions) if (each.isProbe) each.health.abandonProbe()
        return rejectionOf(call, target, admission.retryAfter)
      }
      admissions.push({ target, health, isProbe: admission.isProbe })
    }
    const turn = await this.#turns.take(call)
    if (!turn.ok) {
      for (const each of admissions) if (each.isProbe) each.health.abandonProbe()
      return rejectedInTurn(call, turn)
    }
    try {
      const result = await next(isLimited(call) ? { ...call, hangsAfter: this.#ports.hangTimeout } : call)
      await this.#learn(call, result, admissions, next)
      return result
    } finally {
      turn.end()
    }
  }

  /** Returns the drained node that the call names. Calls for an agent or several nodes name none: the manager decides. */
  #drainedTargetOf({ passedOnTo: target }: NodeCall): string | undefined {
    if (target === undefined || target === 'several' || !('node' in target)) return undefined
    return this.#ports.drains.has(target.node) ? target.node : undefined
  }

  /** Returns the suspects that the call concerns. Agents are looked up only while there are any. */
  async #suspectsOf(call: NodeCall, next: Send): Promise<readonly Target[]> {
    if (this.#suspects.size === 0) return []
    const { passedOnTo: target } = call
    if (target === 'several') return [...this.#suspects.keys()]
    const names =
      target === undefined ? [] : 'node' in target ? [target.node] : await this.#targetsOfAgent(target, call, next)
    return names.filter((name) => this.#suspects.has(name))
  }

  async #targetsOfAgent({ agent }: { readonly agent: string }, call: NodeCall, next: Send): Promise<readonly Target[]> {
    const unknown = `agent ${agent}`
    const owner = await this.#owners.find(agent, call, next)
    return owner === undefined ? [unknown] : owner === call.node ? [] : [owner, unknown]
  }

  /** Records what the result shows about the nodes that the call concerns. */
  async #learn(call: NodeCall, result: NodeResult, admissions: readonly Admission[], next: Send): Promise<void> {
    const isHang = result.ok ? isTimeoutInside(result.response, call.node) : result.hung === true
    if (!isHang) {
      for (const { target, health, isProbe } of admissions) {
        if (result.ok) this.#clear(target, health)
        else if (isProbe) health.abandonProbe()
      }
      return
    }
    const { passedOnTo: target } = call
    if (target === undefined) return
    if (target === 'several') void this.#findCutOff(call, next)
    else if ('node' in target) this.#suspect(target.node, call)
    else for (const name of (await this.#targetsOfAgent(target, call, next)).slice(0, 1)) this.#suspect(name, call)
  }

  /** Asks for the status of each worker, and suspects those for which the call hangs as well. */
  async #findCutOff({ node, credentials }: NodeCall, next: Send): Promise<void> {
    const { hangTimeout } = this.#ports
    const { view, drains } = this.#ports
    const isAsked = ({ name, type }: NodeInfo) => type === 'worker' && name !== node && !drains.has(name)
    const workers = view.nodes().filter(isAsked)
    await Promise.all(
      workers.map(async ({ name }) => {
        const call = createOwnCall({
          node,
          path: `/cluster/${encodeURIComponent(name)}/status`,
          endpoint: 'GET /cluster/:node_id/status',
          timeout: 2 * hangTimeout,
          caller: 'probe',
          requestId: 'probe',
          ...(credentials && { credentials }),
        })
        const probe: NodeCall = { ...call, passedOnTo: { node: name }, hangsAfter: hangTimeout }
        const result = await next(probe)
        if (!result.ok && result.hung === true) this.#suspect(name, probe)
      }),
    )
  }

  #suspect(target: Target, { node, endpoint }: NodeCall): void {
    const { clock, log } = this.#ports
    const health = this.#suspects.get(target) ?? new Health(SUSPICION, clock)
    this.#suspects.set(target, health)
    const isProbe = health.ejectedFor === 0
    if (!health.recordFailure('failure', isProbe, endpoint)) return
    const seconds = Math.ceil((health.ejectedFor ?? 0) / 1000)
    log('warn', 'node does not answer calls that another node passes on', { node: target, through: node, seconds })
  }

  #clear(target: Target, health: Health): void {
    if (this.#suspects.get(target) !== health || !health.recordSuccess()) return
    this.#suspects.delete(target)
    this.#ports.log('info', 'node answers calls that another node passes on again', { node: target })
  }
}

/**
 * A command to agents of all nodes may take longer than a call that hangs, and so may a request that waits for completion.
 * The asked node ends them after 200 seconds.
 */
function isLimited({ timeout, passedOnTo, method }: NodeCall): boolean {
  return timeout !== undefined && (passedOnTo !== 'several' || method === 'GET')
}

function rejectionOf(call: NodeCall, target: Target, retryAfter: number): NodeFailure {
  const detail = `${target} does not answer calls that ${call.node} passes on`
  return notSent(call, { fault: 'timeout', detail, retryAfter })
}

function rejectedInTurn(call: NodeCall, { fault }: Extract<Turn, { ok: false }>): NodeFailure {
  const detail = fault === 'cancelled' ? 'client disconnected' : 'calls for other nodes are queued'
  return notSent(call, { fault, detail, ...(fault === 'overloaded' && { retryAfter: 1 }) })
}

/** The layer that ends a call which hangs because of another node. `isSilent`: the asked node does not answer at all. */
export function limitHang(isSilent: () => boolean, clock: () => number): Layer {
  return (next) => async (call) => {
    const { hangsAfter = Number.POSITIVE_INFINITY, deadline } = call
    if (deadline === undefined || hangsAfter >= deadline.remaining()) return next(call)
    const earlier = startDeadline(hangsAfter, call.signal, clock)
    const result = await next({ ...call, deadline: earlier })
    onEnd(call, result, earlier.end)
    return !result.ok && result.fault === 'timeout' && !isSilent() ? { ...result, hung: true } : result
  }
}

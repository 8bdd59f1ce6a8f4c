/**
 * Which nodes a call concerns that the asked node passes on: the one that it names, that of the agent whose data it reads, or
 * several.
 */
import { type ClusterView, type NodeCall, type NodeResult, nodeOfAgent, type PassedOnTo } from '../../core/node-call.ts'
import { growingLru } from '../../core/recently-used.ts'
import { ownField } from '../../core/values.ts'
import { encode } from '../../layouts/call-path.ts'
import { dataIn } from '../../layouts/dialect.ts'
import type { Send } from '../call.ts'
import type { DrainedNodes } from '../drains.ts'
import type { ClusterSettings } from '../options.ts'
import { createOwnCall } from '../probes.ts'

/** A call that the asked node passes on. */
export type PassedOnCall = NodeCall & { readonly passedOnTo: PassedOnTo }

export function isPassedOn(call: NodeCall): call is PassedOnCall {
  return call.passedOnTo !== undefined
}

/** A node by its name, or an agent whose node is not known, as `agent 001`. */
export type Target = string

/** The suspects whose probe a call is, each with its `probeStart`. */
export type Probes = Map<Target, number | undefined>

export interface TargetsOptions extends Pick<ClusterSettings, 'clock'> {
  readonly view: Pick<ClusterView, 'nodes'>
  readonly drained: DrainedNodes
}

type Several = 'several' | { readonly without: readonly string[] }
type OneTarget = Exclude<PassedOnTo, Several>

const MAX_KNOWN_OWNERS = 10_000
const OWNER_LIFETIME_MS = 60_000
/** During this time, a lookup that found no owner is not repeated. */
const NO_OWNER_LIFETIME_MS = 5_000
const OWNER_TIMEOUT_MS = 5_000

export class PassedOnTargets {
  readonly #options: TargetsOptions
  /** The nodes that agents report to, as the master names them in the v4 layout, by the id of the agent. */
  readonly #owners = growingLru<string, { readonly node: string | undefined; readonly until: number }>(MAX_KNOWN_OWNERS)
  readonly #lookups = new Map<string, Promise<string | undefined>>()

  constructor(options: TargetsOptions) {
    this.#options = options
  }

  isNode(target: Target): boolean {
    return this.#options.view.nodes().some(({ name }) => name === target)
  }

  /** Whether the owner of the agent is being looked up: then it may soon be suspected. */
  isLookedUp(target: PassedOnTo): boolean {
    return !isSeveral(target) && 'agent' in target && this.#lookups.has(target.agent)
  }

  /** Returns the drained node that the call names. Calls for an agent or several nodes name none: the manager decides. */
  drainedOf({ passedOnTo: target }: PassedOnCall): string | undefined {
    const node = !isSeveral(target) && 'node' in target ? target.node : undefined
    return node !== undefined && this.#options.drained.has(node) ? node : undefined
  }

  /**
   * Returns the targets of a call for one node or agent, the likeliest first. The owner of an agent is
   * looked up, and may be the asked node. `next`: sends calls to the asked node.
   */
  async of(target: OneTarget, call: NodeCall, next: Send): Promise<readonly Target[]> {
    if ('node' in target) return [target.node]
    const unknown = `agent ${target.agent}`
    const owner = await this.#findOwner(target.agent, call, next)
    return owner === undefined ? [unknown] : [owner, unknown]
  }

  /** Returns `undefined` if the node that `call` asks does not answer, or does not know. `call`: on whose behalf. */
  async #findOwner(agent: string, call: NodeCall, next: Send): Promise<string | undefined> {
    const known = this.#owners.get(agent)
    if (known !== undefined && this.#options.clock() < known.until) return known.node
    const lookup = this.#lookups.get(agent) ?? this.#lookUp(agent, call, next)
    this.#lookups.set(agent, lookup)
    return lookup
  }

  async #lookUp(agent: string, call: NodeCall, next: Send): Promise<string | undefined> {
    const own = createOwnCall({
      ...onBehalfOf(call),
      path: `/agents?agents_list=${encode(agent)}&select=node_name`,
      endpoint: 'GET /agents',
      timeout: Math.min(OWNER_TIMEOUT_MS, call.timeout ?? OWNER_TIMEOUT_MS),
      caller: 'owners',
      requestId: 'owners',
    })
    const node = ownerIn(await next(own))
    const lifetime = node === undefined ? NO_OWNER_LIFETIME_MS : OWNER_LIFETIME_MS
    this.#owners.set(agent, { node, until: this.#options.clock() + lifetime })
    this.#lookups.delete(agent)
    return node
  }
}

export function isSeveral(target: PassedOnTo): target is Several {
  return target === 'several' || 'without' in target
}

/** Returns what an own call for another call has in common with it. */
export function onBehalfOf({ node, credentials, token }: NodeCall): Pick<NodeCall, 'node' | 'credentials' | 'token'> {
  return { node, ...(credentials && { credentials }), ...(token && { token }) }
}

function ownerIn(result: NodeResult): string | undefined {
  const rows = ownField(dataIn(result), 'affected_items')
  return Array.isArray(rows) ? nodeOfAgent(rows[0]) : undefined
}

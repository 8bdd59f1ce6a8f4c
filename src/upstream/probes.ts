/**
 * Calls that the edge sends for itself, and what their responses show: whether a node answers at all, its layout, its
 * version, and for `manager-edge check --connect` the rights of the account.
 */

import { Cancellation, type CancelSignal } from '../core/cancellation.ts'
import type { Counters } from '../core/counters.ts'
import type {
  CallNode,
  ClusterView,
  Layout,
  NodeCall,
  NodeFailure,
  NodeResponse,
  NodeResult,
} from '../core/node-call.ts'
import { describeFailure, isAnswered, isHeldBack } from '../core/node-faults.ts'
import { PROBLEM_TYPE } from '../core/origins.ts'
import { ownField } from '../core/values.ts'
import { dataIn } from '../layouts/dialect.ts'
import { bodyOf, layoutRules, shortBodyOf } from '../layouts/layout-rules.ts'
import type { Send } from './call.ts'
import { statusProbe } from './node-problems.ts'

/** A read that the edge sends for itself. `timeout` in milliseconds. */
type OwnCall = Pick<
  NodeCall,
  'node' | 'path' | 'endpoint' | 'caller' | 'credentials' | 'clientAddress' | 'token' | 'anyToken' | 'requestId'
> & {
  readonly timeout: number
  readonly signal?: CancelSignal
}

/** Completes a call that the edge sends for itself: it goes before those of clients. */
export function createOwnCall({ signal = new Cancellation(), ...call }: OwnCall): NodeCall {
  return { ...call, method: 'GET', retryable: true, expect: 'bytes', priority: 'own', signal }
}

/** `none`: the node sent no response in time. `notSent`: its limit of calls per minute did not permit the probe. */
export type ProbeOutcome = 'answered' | 'blocked' | 'none' | 'notSent'

/** What `GET /` shows. `reason`: why it does not show the layout; it contains no addresses. */
export interface Probe {
  readonly outcome: ProbeOutcome
  readonly layout: Layout | undefined
  readonly reason: string
}

/**
 * Sends the probe that shows whether a node answers at all, and its layout. The API process of each layout answers `GET /` by
 * itself, in front of all its work, and it is no login. Any response counts, also a refusal. A node of the v4 layout answers
 * with a media type that the v3 one does not have, whether it refuses the call (401), is starting (400), blocks the address
 * of the edge (403) or is at its limit (429). `send` passes the health and the concurrency limit of the node. Never rejects.
 */
export async function probeAlive(
  send: Send,
  probe: Pick<OwnCall, 'node' | 'timeout' | 'caller' | 'credentials'>,
): Promise<Probe> {
  const result = await send(createOwnCall({ ...probe, path: '/', endpoint: 'GET /', requestId: probe.caller }))
  if (!result.ok) return { outcome: outcomeOf(result), layout: result.layout, reason: describeFailure(result) }
  const { type, status } = result.response
  const layout = type === PROBLEM_TYPE ? 'v4' : layoutOfBody(shortBodyOf(result.response))
  return { outcome: 'answered', layout, reason: `status ${status} for GET /` }
}

function outcomeOf(failure: NodeFailure): ProbeOutcome {
  if (failure.fault === 'blocked') return 'blocked'
  if (isAnswered(failure)) return 'answered'
  return isHeldBack(failure) ? 'notSent' : 'none'
}

/** The envelopes of both layouts have `error` and `data`; the v4 one names the title of its API. */
function layoutOfBody(value: unknown): Layout | undefined {
  if (typeof ownField(value, 'error') !== 'number') return undefined
  return typeof ownField(ownField(value, 'data'), 'title') === 'string' ? 'v4' : 'v3'
}

/** How long a replica remembers its attempt at a node that blocks the address. */
const MIN_ATTEMPT_MEMORY_MS = 300_000

/**
 * Reserves the only attempt of all replicas, within `pause` milliseconds, to call a node that blocks the address. Resolves
 * to `undefined` if another replica has made one, or to the function that ends the reservation.
 */
export async function reserveAttemptAt(
  node: string,
  pause: number,
  counters: Counters,
): Promise<(() => Promise<void>) | undefined> {
  const name = `attempt:${node}`
  if (counters.replicas === 1) return async () => undefined
  const isReserved = await counters.update([name], (texts, { now }) => {
    const last = Number(texts.get(name))
    if (now < last + pause) return false
    texts.set(name, `${now}`, Math.max(pause, MIN_ATTEMPT_MEMORY_MS))
    return true
  })
  return isReserved ? () => counters.update([name], (texts) => texts.set(name, '', 0)) : undefined
}

/** A node that hangs answers after ten seconds. */
const HANG_PROBE_TIMEOUT_MS = 12_000

/** Sends the probe that shows whether a node of a release still hangs, through its health and its queue. */
export function probeExecution(send: Send, node: string, release: string | undefined): Promise<NodeResult> {
  const probe = { node, ...statusProbe(release), timeout: HANG_PROBE_TIMEOUT_MS, caller: 'probe', requestId: 'probe' }
  return send(createOwnCall(probe))
}

type View = Pick<ClusterView, 'layoutOf'>

type VersionCall = Pick<OwnCall, 'node' | 'timeout' | 'caller' | 'credentials' | 'anyToken'>

/** Calls a node for its version, to check that it is reachable and accepts the credentials. */
export function callVersion(
  cluster: { readonly call: CallNode; readonly view: View },
  call: VersionCall,
): Promise<NodeResult> {
  return cluster.call(createVersionCall(cluster, call))
}

/** Returns the cheapest read that every account may send. */
export function createVersionCall({ view }: { readonly view: View }, call: VersionCall): NodeCall {
  const path = layoutRules[view.layoutOf(call.node) ?? 'v3'].versionPath
  return createOwnCall({ ...call, path, endpoint: `GET ${path}`, requestId: 'credentials' })
}

/** `timeout` in milliseconds. */
type NodeCheckOptions = Pick<OwnCall, 'node' | 'timeout' | 'caller' | 'credentials' | 'token'>

/** Returns the error code in a response of either layout; 0 if there is none. */
export function errorCodeIn(response: NodeResponse): number {
  const error = ownField(bodyOf(response), 'error')
  return typeof error === 'number' ? error : 0
}

/** `some`: the node leaves out of lists what the account may not do, without an error. */
export type Extent = 'all' | 'some' | 'none'

/** An action on all objects of a type, as policies of the manager name both. */
export interface Right {
  readonly action: string
  readonly on: string
}

/** How far an account may do something. */
export type AccountRights = (right: Right) => Extent

/** Returns the policies of the caller, as the node shows them; `undefined`: it does not. v4 layout only. */
export async function readPolicies(call: CallNode, options: NodeCheckOptions): Promise<unknown> {
  const path = '/security/users/me/policies'
  const own = createOwnCall({ ...options, path, endpoint: `GET ${path}`, requestId: 'check' })
  return dataIn(await call({ ...own, priority: 'interactive' }))
}

/** Returns the rights of the account; `undefined` if the node does not show them in a known form. v4 layout only. */
export async function readAccountRights(call: CallNode, options: NodeCheckOptions): Promise<AccountRights | undefined> {
  const policies = await readPolicies(call, options)
  const mode = ownField(policies, 'rbac_mode')
  if (mode !== 'white' && mode !== 'black') return undefined
  return ({ action, on }) => extentOf(ownField(policies, action), on, mode)
}

/** `resources`: the effect by the name of the resource, with `*` for all objects of a type. */
function extentOf(resources: unknown, on: string, mode: 'white' | 'black'): Extent {
  const effects = typeof resources === 'object' && resources !== null ? Object.entries(resources) : []
  const denied = effects.filter(([, effect]) => effect === 'deny').map(([name]) => name)
  const allowed = effects.filter(([, effect]) => effect === 'allow').map(([name]) => name)
  if (denied.some((name) => isAllOf(on, name))) return 'none'
  if (mode === 'black' || allowed.some((name) => isAllOf(on, name))) return denied.length === 0 ? 'all' : 'some'
  return allowed.length === 0 ? 'none' : 'some'
}

/** Each agent is a member of a group. */
function isAllOf(on: string, name: string): boolean {
  return name === `${on}:*` || name === '*:*:*' || (on === 'agent:id' && name === 'agent:group:*')
}

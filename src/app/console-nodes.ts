/** What the console shows of nodes, and how it drains them. */
import { randomUUID } from 'node:crypto'
import type { ConsoleHistory } from '../admin/console/history.ts'
import type { DrainResult, NodeStateName } from '../admin/console/node-types.ts'
import type { NodeDrains, NodeState, PurgeCaller } from '../admin/console/ports.ts'
import type { Audit } from '../audit/index.ts'
import { durationFormat } from '../config/formats.ts'
import type { Drain } from '../core/drains.ts'
import { EdgeError } from '../core/errors.ts'
import type { Drains } from '../upstream/drains.ts'
import type { Cluster, NodeStatus } from '../upstream/index.ts'
import type { NodeContacts } from '../upstream/node-contacts.ts'

/** Returns the state of each node as the console shows it. */
export function nodeStates({ status, view }: Cluster, contacts: Pick<NodeContacts, 'states'>): NodeState[] {
  const now = Date.now()
  const contactStates = contacts.states()
  return status().map((node) => {
    const { name, type, layout, inFlight, limit, slots, queue, budget, ejectedUntil, cutOffUntil, lastFailure, drain } =
      node
    const until = ejectedUntil ?? cutOffUntil
    const { version } = view.find(name) ?? {}
    return {
      name,
      type,
      state: stateOf(node, view, contactStates.get(name) ?? 'not tried'),
      inFlight,
      limit,
      slots,
      queue,
      ...(budget && { budget }),
      ...(version !== undefined && { version }),
      ...(layout && { layout }),
      ...(drain && { drain: drainOf(drain, now) }),
      ...(until !== undefined && { ejectedFor: Math.max(0, until - now) }),
      ...(lastFailure && {
        lastFailure: { fault: lastFailure.fault, detail: lastFailure.detail, ago: now - lastFailure.at },
      }),
    }
  })
}

function drainOf({ by, at, reason, until }: Drain, now: number): NonNullable<NodeState['drain']> {
  const end = until === undefined ? {} : { endsIn: Math.max(0, until - now) }
  return { by, ago: Math.max(0, now - at), ...(reason !== undefined && { reason }), ...end }
}

/** Returns why the node receives no calls, or what the latest one showed. */
function stateOf(
  node: NodeStatus,
  view: Cluster['view'],
  contact: 'answered' | 'failing' | 'not tried',
): NodeStateName {
  const { name, addressed, listed, ejectedUntil, hangs, cutOffUntil, drain } = node
  if (drain !== undefined) return 'drained'
  if (ejectedUntil !== undefined) return hangs ? 'hangs' : 'ejected'
  if (cutOffUntil !== undefined) return 'cut off'
  if (!addressed) return 'no address'
  if (contact !== 'answered') return contact
  if (!view.isAvailable(name)) return 'full'
  return listed === false ? 'not listed' : 'up'
}

const ROUTE = '/api/nodes/:node/drain'

const MIN_DURATION_MS = 1000

/** The audit records of a drain have the route of the operations listener. */
export function createNodeDrains({
  audit,
  drains,
  history,
}: {
  readonly audit: Pick<Audit, 'record'>
  readonly drains: Drains
  readonly history: Pick<ConsoleHistory, 'recordEvent'>
}): NodeDrains {
  const { areShared } = drains
  const appliesTo = areShared ? 'allReplicas' : 'thisReplica'
  drains.onEnd(({ node, by, reason }) => {
    const query = { end: 'reached', ...(reason && { reason }) }
    const ofEdge = { request: randomUUID(), caller: by, client: '', method: 'DELETE', route: ROUTE } as const
    // The node has returned already: a record that cannot be written is counted and logged.
    audit.record({ ...ofEdge, params: { node }, query }, async () => undefined).catch(() => undefined)
    history.recordEvent({ kind: 'return', text: node })
  })
  const describe = (method: 'PUT' | 'DELETE', node: string, { caller, client, requestId }: PurgeCaller) =>
    ({ request: requestId, caller: caller.name, client, method, route: ROUTE, params: { node } }) as const
  return {
    areShared,
    drain: async (node, { confirm, for: text, reason }, by): Promise<DrainResult> => {
      const duration = text === undefined ? undefined : parseDrainDuration(text)
      const query = { ...(confirm && { confirm }), ...(text && { for: text }), ...(reason && { reason }) }
      const described = { ...describe('PUT', node, by), ...(Object.keys(query).length > 0 && { query }) }
      const request = { node, by: by.caller.name, confirmsMaster: confirm === 'master', reason, duration }
      const drain = await audit.record(described, () => drains.drain(request))
      history.recordEvent({ kind: 'drain', text: [node, drain?.reason].filter(Boolean).join(': ') })
      const { reason: given, until } = drain ?? {}
      return { node, drained: true, appliesTo, ...(given && { reason: given }), ...(until && { until }) }
    },
    putBack: async (node, by): Promise<DrainResult> => {
      await audit.record(describe('DELETE', node, by), () => drains.putBack(node))
      history.recordEvent({ kind: 'return', text: node })
      return { node, drained: false, appliesTo }
    },
  }
}

function parseDrainDuration(text: string): number {
  const { validate, parse, description } = durationFormat
  const duration = validate(text) ? Number(parse?.(text, '')) : 0
  if (duration >= MIN_DURATION_MS) return duration
  throw new EdgeError(604, `. for must be ${description}, at least 1s and at most 24 days`)
}

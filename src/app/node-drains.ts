/** Drains of nodes that operators ask for, with their audit records. */
import { randomUUID } from 'node:crypto'
import type { Audit } from '../audit/index.ts'
import { durationFormat } from '../config/formats.ts'
import { EdgeError } from '../core/errors.ts'
import type { NodeDrains, PurgeCaller } from '../status/edge-view.ts'
import type { DrainResult } from '../status/node-types.ts'
import type { Cluster } from '../upstream/index.ts'
import type { Base } from './base.ts'

const ROUTE = '/api/nodes/:node/drain'

const MIN_DURATION_MS = 1000

/** Drains of nodes. Their audit records have the route of the operations listener. */
export function createNodeDrains(
  audit: Pick<Audit, 'record'>,
  { drains }: Pick<Cluster, 'drains'>,
  emit: Pick<Base['events']['emit'], 'operation'>,
): NodeDrains {
  const { areShared } = drains
  const appliesTo = areShared ? 'allReplicas' : 'thisReplica'
  drains.onEnd(({ node, by, reason }) => {
    const query = { end: 'reached', ...(reason && { reason }) }
    const ofEdge = { request: randomUUID(), caller: by, client: '', method: 'DELETE', route: ROUTE } as const
    // The node has returned already: a record that cannot be written is counted and logged.
    audit.record({ ...ofEdge, params: { node }, query }, async () => undefined).catch(() => undefined)
    emit.operation({ kind: 'return', text: node })
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
      emit.operation({ kind: 'drain', text: [node, drain?.reason].filter(Boolean).join(': ') })
      const { reason: given, until } = drain ?? {}
      const end = until && { until: new Date(until).toISOString() }
      return { node, drained: true, appliesTo, ...(given && { reason: given }), ...end }
    },
    putBack: async (node, by): Promise<DrainResult> => {
      await audit.record(describe('DELETE', node, by), () => drains.putBack(node))
      emit.operation({ kind: 'return', text: node })
      return { node, drained: false, appliesTo }
    },
  }
}

function parseDrainDuration(text: string): number {
  const { validate, parse, description } = durationFormat
  const duration = validate(text) ? parse(text) : 0
  if (duration >= MIN_DURATION_MS) return duration
  throw new EdgeError(604, `. for must be ${description}, at least 1s and at most 24 days`)
}

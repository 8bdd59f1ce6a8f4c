/** Drains of nodes by operators, with audit records and events in the charts. */
import { randomUUID } from 'node:crypto'
import type { ConsoleHistory } from '../admin/console/history.ts'
import type { DrainResult } from '../admin/console/node-types.ts'
import type { NodeDrains, PurgeCaller } from '../admin/console/ports.ts'
import type { Audit } from '../audit/index.ts'
import { durationFormat } from '../config/formats.ts'
import { EdgeError } from '../core/errors.ts'
import type { Cluster } from '../upstream/index.ts'

const ROUTE = '/api/nodes/:node/drain'

const MIN_DURATION_MS = 1000

/** The audit records of a drain have the route of the operations listener. */
export function createNodeDrains({
  audit,
  cluster: { drains },
  history,
}: {
  readonly audit: Pick<Audit, 'record'>
  readonly cluster: Pick<Cluster, 'drains'>
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

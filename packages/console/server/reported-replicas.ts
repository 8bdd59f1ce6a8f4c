/** The other replicas, with what their consoles have added to their reports. */
import { Type } from 'typebox'
import type { EdgeView } from '../../../src/status/edge-view.ts'
import type { ReplicaSummary } from '../../../src/status/node-types.ts'
import { validatorOf } from '../../../src/status/validation.ts'
import type { ReportedReplica } from './node-types.ts'

const number = Type.Number()
const optionalNumber = Type.Optional(number)
const text = Type.String({ maxLength: 300 })
const nodePart = Type.Object({
  node: text,
  rows: optionalNumber,
  total: optionalNumber,
  ms: optionalNumber,
  error: Type.Optional(text),
  errorKind: Type.Optional(Type.Enum(['failed', 'answered', 'knownLimit'])),
})
/** Other programs may write to this Redis, so the parts are validated before they are used. */
const isReported = validatorOf(
  Type.Object({
    rates: Type.Object({
      perSecond: number,
      cacheablePerSecond: optionalNumber,
      callsPerSecond: number,
      savedPerSecond: number,
      failuresPerSecond: number,
      hitRatio: optionalNumber,
      p50: optionalNumber,
      p99: optionalNumber,
    }),
    joined: Type.Optional(
      Type.Array(Type.Object({ ago: number, route: text, ms: number, nodes: Type.Array(nodePart) })),
    ),
  }),
)

/**
 * Returns the function that returns the other replicas, without those whose parts are not valid; undefined while Redis is
 * unreachable. Returns undefined if replicas share nothing.
 */
export function readReplicas({
  replicas,
}: Pick<EdgeView['cluster'], 'replicas'>): (() => readonly ReportedReplica[] | undefined) | undefined {
  return replicas && (() => replicas()?.flatMap(reportedBy))
}

function reportedBy(replica: ReplicaSummary): readonly ReportedReplica[] {
  if (!isReported(replica)) return []
  const { joined, ...summary } = replica
  // The ages in a report are those at its publication.
  const aged = joined?.map((each) => ({ ...each, ago: each.ago + replica.ago }))
  return [{ ...summary, ...(aged && { joined: aged }) }]
}

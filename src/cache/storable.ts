/** Which responses may be stored. */
import {
  type EnvelopeResponse,
  isPartial,
  REFUSED_BY_RIGHTS,
  type ReadResponse,
  type SnapshotResponse,
  type StorableOrigin,
} from '../core/response.ts'

/**
 * Whether a response may be stored: successful, without stale parts, for every caller, and complete except for rows that
 * no node can return. Or it is a refusal by rights, which are a part of the key.
 */
export function isStorable(response: ReadResponse): response is EnvelopeResponse<StorableOrigin> | SnapshotResponse {
  if (response.kind === 'snapshot') return !isPartial(response)
  if (response.kind === 'file') return false
  const { origin, status, errorNumber } = response
  if (status === 403 && errorNumber === REFUSED_BY_RIGHTS) return origin.kind === 'node' && !origin.isPersonal
  if (status !== 200 || errorNumber !== 0) return false
  switch (origin.kind) {
    case 'node':
      return !origin.isPersonal && !origin.namesFailedNodes
    case 'joined':
    case 'computed':
      return origin.completeness === 'complete' || origin.completeness === 'knownGaps'
    default:
      return false
  }
}

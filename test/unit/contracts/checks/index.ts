/**
 * Checks the catalogue for mistakes that the types cannot express. Each fault is one sentence with the record, the mistake and
 * the remedy.
 */
import type { Endpoint } from '../../../../src/contracts/endpoint.ts'
import { checkCachePolicy, checkInvalidation, checkInvalidationOfJoined } from './invalidation.ts'
import { checkBody, checkNames, checkPath, checkValues } from './parameters.ts'
import { type Check, idOf, shapeOf } from './record-facts.ts'
import {
  checkJoinedRows,
  checkMergeRule,
  checkOwner,
  checkPermission,
  checkSeveralNodes,
  checkTwin,
  checkWriteLock,
} from './targets.ts'

const checks: readonly Check[] = [
  ...[checkPath, checkNames, checkValues, checkBody],
  ...[checkPermission, checkOwner, checkTwin, checkMergeRule],
  ...[checkSeveralNodes, checkJoinedRows, checkWriteLock],
  ...[checkCachePolicy, checkInvalidation, checkInvalidationOfJoined],
]

/** Returns the faults of a catalogue; an empty list if it is correct. */
export function checkCatalogue(records: readonly Endpoint[]): readonly string[] {
  const ofEach = records.flatMap((record) =>
    checks.flatMap((check) => check(record, records).map((fault) => `${idOf(record)}: ${fault}`)),
  )
  return [...duplicates(records), ...ofEach]
}

/** The router ignores case and the names of parameters: `/a/:b` and `/A/:c` are the same route. */
function duplicates(records: readonly Endpoint[]): readonly string[] {
  const seen = new Map<string, string>()
  return records.flatMap((record) => {
    const shape = shapeOf(record)
    const before = seen.get(shape)
    seen.set(shape, idOf(record))
    return before === undefined
      ? []
      : [`${idOf(record)}: the route is the same as ${before}; remove one of the two records`]
  })
}

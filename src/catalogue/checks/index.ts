import type { Endpoint } from '../endpoint.ts'
import { bodies, names, paths, values } from './parameters.ts'
import { type Check, idOf, shapeOf } from './record-facts.ts'
import { kept, stale, staleAsWhole } from './staleness.ts'
import { access, joinedRows, merges, owners, severalNodes, turns, twins } from './targets.ts'

/**
 * What start-up refuses: mistakes of a catalogue that the types of its vocabulary cannot refuse. Each fault is one
 * sentence that names the record, the mistake and the remedy.
 */

const checks: readonly Check[] = [
  ...[paths, names, values, bodies],
  ...[access, owners, twins, merges],
  ...[severalNodes, joinedRows, turns],
  ...[kept, stale, staleAsWhole],
]

/** The faults of a catalogue; empty when it can be served. */
export function checkCatalogue(records: readonly Endpoint[]): readonly string[] {
  const ofEach = records.flatMap((record) =>
    checks.flatMap((check) => check(record, records).map((fault) => `${idOf(record)}: ${fault}`)),
  )
  return [...duplicates(records), ...ofEach]
}

/** Paths are matched without case, and a parameter by its place: `/a/:b` and `/A/:c` are one route. */
function duplicates(records: readonly Endpoint[]): readonly string[] {
  const seen = new Map<string, string>()
  return records.flatMap((record) => {
    const shape = shapeOf(record)
    const before = seen.get(shape)
    seen.set(shape, idOf(record))
    return before === undefined
      ? []
      : [`${idOf(record)}: the route is ${before} already; remove one of the two records`]
  })
}

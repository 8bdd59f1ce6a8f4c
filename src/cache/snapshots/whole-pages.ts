/** Whether a page has all rows of its collection. */
import { collectionContracts } from '../../collections/contracts.ts'
import type { PageWindow } from '../../collections/request.ts'
import type { Source } from '../../collections/sources.ts'
import type { EdgeRead } from '../../core/request.ts'
import type { Derivation } from './derivation.ts'

/** Whether the total of a response counts its page only, so that a full page may lack rows. */
export function countsPage(source: Source): boolean {
  return source.engine === 'array' && source.offsetFirst === true
}

/** Whether a page has all rows of its collection. `total`: the total in the response. */
export function isWhole(
  { source, collection: { select } }: Derivation,
  { offset, limit }: PageWindow,
  total: number,
): boolean {
  if (offset !== 0 || select !== undefined) return false
  return countsPage(source) ? total < limit : total <= limit
}

/** What the v4 contract writes behind the total has about 150 bytes. */
const MAX_END_BYTES = 256

/**
 * Returns the total in the text of a collection, near its beginning or its end; `undefined`: it is not there. It may be wrong
 * for a hostile body, whose rows no snapshot accepts; to find the rows of one would block the event loop.
 */
export function totalOf(body: Buffer, { endpoint: { contract } }: EdgeRead): number | undefined {
  const name = `"${collectionContracts[contract].totalName}":`
  const ends = [
    body.toString('latin1', 0, MAX_END_BYTES),
    body.toString('latin1', Math.max(0, body.length - MAX_END_BYTES)),
  ]
  const [total] = ends.flatMap((text) => /^ ?(\d+)[,}]/.exec(text.split(name).at(-1) ?? '')?.[1] ?? [])
  return total === undefined ? undefined : Number(total)
}

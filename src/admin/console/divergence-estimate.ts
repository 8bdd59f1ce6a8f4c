/**
 * How many reads would have differed from the current response with another lifetime, from the comparisons of hits.
 *
 * The older a response, the more often it differs. Of data that changes at random or in a rhythm, the share that differs grows
 * at most as fast as the age (the probability of a change within an age is concave). So the share of the comparisons, times
 * the ratio of the ages, is an upper estimate for older hits; for younger ones the share itself is.
 */
import type { ComparisonCounts, Differing } from './advice-types.ts'

/** With fewer comparisons, no share is stated. */
export const MIN_COMPARISONS = 30
/** One-sided, for a confidence of 95 %. */
const Z = 1.645

/** The hits of a replay. `ages`: of all of them together, in milliseconds. */
interface Hits {
  readonly reads: number
  readonly hits: number
  readonly ages: number
}

/** Returns `undefined` if there are too few comparisons. */
export function estimateDiffering(
  { compared, different, age }: ComparisonCounts,
  { reads, hits, ages }: Hits,
): Differing | undefined {
  if (compared < MIN_COMPARISONS) return undefined
  if (hits === 0) return { share: 0, atMost: 0 }
  const older = Math.max(1, ages / hits / Math.max(1, age))
  const ofReads = (share: number) => Math.min(1, share * older) * (hits / reads)
  return { share: ofReads(different / compared), atMost: ofReads(upperBound(different, compared)) }
}

/** Returns the upper bound of the score interval of a share (Wilson). */
function upperBound(different: number, compared: number): number {
  const share = different / compared
  const z2 = Z * Z
  const middle = share + z2 / (2 * compared)
  const spread = Z * Math.sqrt((share * (1 - share)) / compared + z2 / (4 * compared * compared))
  return Math.min(1, (middle + spread) / (1 + z2 / compared))
}

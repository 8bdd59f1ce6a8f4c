/** Buckets of latencies, as the console has them. */

/** 66 buckets from 0.05 ms to about 100 s, each a quarter wider than the one before. The last one has no upper bound. */
const BUCKETS = 66
const FIRST_BUCKET_MS = 0.05
const BUCKET_GROWTH = 1.25
/** The upper bounds of the buckets in milliseconds. */
export const BUCKET_BOUNDS_MS: readonly number[] = Array.from(
  { length: BUCKETS },
  (_, at) => FIRST_BUCKET_MS * BUCKET_GROWTH ** at,
)

/** Returns the index of the first bound that is not below the value; the number of bounds if all are. `bounds`: ascending. */
export function bucketOf(bounds: ArrayLike<number>, value: number): number {
  let [low, high] = [0, bounds.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((bounds[middle] ?? 0) < value) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Asks random queries, and each part of a query, of every collection of the v4 contract with a snapshot, and compares
 * the responses from the snapshot with those of the node (`npm run check:answers -- --contract v4`).
 */
import { collections, pathOf, startSites } from './compare.ts'

export interface LongRun {
  readonly queries: number
  readonly seed: number
  readonly only: string
}

/** Returns the number of differences. */
export async function compareV4Contract({ queries, seed, only }: LongRun): Promise<number> {
  const teardowns: (() => unknown)[] = []
  const sites = await startSites({ teardown: (...args: unknown[]) => void teardowns.unshift(args[0] as () => unknown) })
  const chosen = collections.filter((record) => pathOf(record).includes(only))
  const totals = { queries: 0, computed: 0, special: 0, refused: 0, differences: 0 }
  for (const record of chosen) {
    const random = await sites.compare(record, Math.ceil(queries / chosen.length), seed)
    for (const { path, differences, ...counts } of [random, await sites.compareParts(record, 1, 0)]) {
      for (const name of ['queries', 'computed', 'special', 'refused'] as const) totals[name] += counts[name]
      totals.differences += differences.length
      console.log(
        `v4 contract ${path}: ${counts.queries} queries, ${counts.computed} from the snapshot ` +
          `(${counts.special} of them more than a page), ${counts.refused} refused, ${differences.length} differences`,
      )
      for (const difference of differences.slice(0, 3)) console.log(`  DIFFERENCE ${difference}`)
    }
  }
  console.log(
    `v4 contract: ${totals.queries} queries over ${chosen.length} collections, ${totals.computed} from snapshots ` +
      `(${totals.special} of them more than a page), ${totals.refused} refused, seed ${seed}: ${totals.differences} differences`,
  )
  for (const close of teardowns) await close()
  return totals.differences
}

/** The calls of every read (`npm run bench:fleet -- --prices`), of small and large clusters. */
import { priceOfRead } from '../../../src/core/request.ts'
import { type PricedCluster, pricesOfReads, ways } from '../../system/joined/read-prices.ts'

/** Prints the table. Returns what costs more than a read may. */
export async function printPrices(clusters: readonly PricedCluster[]): Promise<readonly string[]> {
  const names = clusters.flatMap(({ agents }) => ways.map(({ name }) => `${agents.toLocaleString('en')}, ${name}`))
  console.log(`| read | ${names.join(' | ')} |\n|---|${'---|'.repeat(names.length)}`)
  const columns: ReadonlyMap<string, string>[] = []
  const missed: string[] = []
  for (const cluster of clusters)
    for (const way of ways) {
      const price = priceOfRead(cluster.workers + 1)
      const column = new Map<string, string>()
      columns.push(column)
      const teardowns: (() => unknown)[] = []
      const t = { teardown: (end: () => unknown) => void teardowns.unshift(end) }
      for await (const { path, calls, ownerCalls } of pricesOfReads(t, cluster, way)) {
        const owners = ownerCalls === 0 ? '' : ` + ${ownerCalls}`
        column.set(path, `${calls.length}${owners}`)
        if (calls.length > price)
          missed.push(`${cluster.agents} agents, ${way.name}, ${path}: ${calls.length} of ${price}`)
      }
      for (const end of teardowns) await end()
    }
  for (const path of new Set(columns.flatMap((column) => [...column.keys()])))
    console.log(`| \`${path}\` | ${columns.map((column) => column.get(path) ?? '–').join(' | ')} |`)
  return missed
}

/** The calls of every read (`npm run bench:fleet -- --prices`), of small and large clusters. */
import { priceOfRead } from '../../../src/core/request.ts'
import { type PricedCluster, pricesOfReads, type ReadPrice, ways } from '../../system/joined/read-prices.ts'

interface Column {
  readonly name: string
  readonly reads: readonly ReadPrice[]
}

/** Prints the table, then the dearest read of each column. Returns what costs more than a read may, and wrong responses. */
export async function printPrices(clusters: readonly PricedCluster[]): Promise<readonly string[]> {
  const columns: Column[] = []
  const missed: string[] = []
  for (const cluster of clusters)
    for (const way of ways) {
      const name = `${cluster.agents.toLocaleString('en')}, ${way.name}`
      const price = priceOfRead(cluster.workers + 1)
      const begun = performance.now()
      const reads: ReadPrice[] = []
      const teardowns: (() => unknown)[] = []
      const t = { teardown: (end: () => unknown) => void teardowns.unshift(end) }
      for await (const read of pricesOfReads(t, cluster, way)) {
        reads.push(read)
        const { target, calls } = read
        if (calls.length > price) missed.push(`${name}, ${target}: ${calls.length} calls of ${price}`)
        const fault = faultOf(read)
        if (fault !== undefined) missed.push(`${name}, ${target}: ${fault}`)
      }
      for (const end of teardowns) await end()
      columns.push({ name, reads })
      console.error(`${name}: ${reads.length} reads in ${Math.round((performance.now() - begun) / 1000)} s`)
    }
  printRow(['read', ...columns.map(({ name }) => name)])
  printRow(['---', ...columns.map(() => '---')])
  for (const path of new Set(columns.flatMap(({ reads }) => reads.map((read) => read.path))))
    printRow([`\`${path}\``, ...columns.map(({ reads }) => cellOf(reads.find((read) => read.path === path)))])
  printSummary(columns, clusters)
  return missed
}

const OF_SEVERAL_NODES = /node_ids|^\/cluster\/configuration\/validation$/

function kindOf({ path }: ReadPrice): 'agents' | 'nodes' | 'others' {
  if (path.startsWith('/experimental/')) return 'agents'
  return OF_SEVERAL_NODES.test(path) ? 'nodes' : 'others'
}

function printSummary(columns: readonly Column[], clusters: readonly PricedCluster[]): void {
  const prices = clusters.map(({ workers }) => priceOfRead(workers + 1))
  console.log(`\nmost calls of a read, at most ${[...new Set(prices)].join(' or ')}`)
  printRow(['agents, way', 'reads', 'of all agents', 'of several nodes', 'of others', 'owner table'])
  printRow(['---', '---', '---', '---', '---', '---'])
  for (const { name, reads } of columns) {
    const most = (['agents', 'nodes', 'others'] as const).map((kind) =>
      mostOf(reads.filter((read) => kindOf(read) === kind).map(({ calls }) => calls.length)),
    )
    printRow([name, String(reads.length), ...most, mostOf(reads.map(({ ownerCalls }) => ownerCalls))])
  }
}

function mostOf(counts: readonly number[]): string {
  return counts.length === 0 ? '–' : String(Math.max(...counts))
}

function cellOf(read: ReadPrice | undefined): string {
  if (read === undefined) return '–'
  return read.ownerCalls === 0 ? `${read.calls.length}` : `${read.calls.length} + ${read.ownerCalls}`
}

function printRow(cells: readonly string[]): void {
  console.log(`| ${cells.join(' | ')} |`)
}

const DEFAULT_LIMIT = 500

interface Body {
  readonly error?: number
  readonly data?: {
    readonly items?: readonly unknown[]
    readonly affected_items?: readonly unknown[]
    readonly totalItems?: number
    readonly total_affected_items?: number
  }
}

/** Returns what is wrong with a response: its status, an error of the edge, or the number of its rows. */
function faultOf({ path, target, status, text }: ReadPrice): string | undefined {
  if (status !== 200) return `status ${status}`
  if (!text.startsWith('{')) return text.length === 0 ? 'an empty body' : undefined
  const { error = 0, data = {} }: Body = JSON.parse(text)
  if (error >= 900 && error < 1000) return text.slice(0, 200)
  const [rows, total] = [data.items ?? data.affected_items, data.totalItems ?? data.total_affected_items]
  // Its total in the v4 contract is that of agents.
  if (rows === undefined || total === undefined || path === '/agents/stats/distinct') return undefined
  const limit = Number(new URL(target, 'http://edge').searchParams.get('limit') ?? DEFAULT_LIMIT)
  const expected = Math.min(limit, total)
  return rows.length === expected ? undefined : `${rows.length} rows instead of ${expected}`
}

import fc from 'fast-check'
import t from 'tap'
import type { Simulator } from '../../../packages/simulator/src/index.ts'
import type { Row } from '../../../src/collections/value.ts'
import { allRows, expected, joinedCluster, kinds, pathOf } from '../joined/cluster.ts'

const QUERIES = 25

for (const distribution of ['manager', 'edge'] as const) {
  t.test(
    `mode ${distribution}: random queries over all agents get the rows of one node that had all rows`,
    async (t) => {
      const { simulator, get } = await joinedCluster(t, {
        distribution,
        agents: 8,
        cache: {
          snapshots: { groups: ['syscollector', 'ciscat'] },
          ttl: { syscollector: '10m', ciscat: '10m', agents: '10m' },
        },
      })
      for (const kind of kinds) {
        const all = allRows(simulator, kind)
        const isMasterPage = distribution === 'manager' && all.length <= 1000
        if (distribution === 'manager' && !isMasterPage) continue
        const rows = isMasterPage ? asMasterReturns(all, simulator) : all
        await get(`${pathOf(kind)}?limit=1`)
        const calls = simulator.seen.length
        const seed = Math.trunc(Math.random() * 2 ** 31)
        for (const query of fc.sample(queriesOf(rows), { numRuns: QUERIES, seed })) {
          const { body, headers } = await get(`${pathOf(kind)}?${new URLSearchParams(query)}`)
          const { failed_nodes, ...page } = body.data
          t.strictSame(page, expected(rows, query), `${kind} ${JSON.stringify(query)}`)
          t.equal(failed_nodes, undefined)
          t.match(headers.get('cache-status'), /; hit/)
        }
        t.equal(simulator.seen.length, calls, `${kind}, seed ${seed}: no node is called`)
      }
    },
  )
}

/** In the page of the master, rows of agent 000 do not name their node, and the nodes follow each other by name, descending. */
function asMasterReturns(rows: readonly Row[], { world }: Simulator): Row[] {
  const nodeOf = ({ node_name, agent_id }: Row) => String(node_name ?? world.agents.get(String(agent_id))?.node)
  const nodes = [...new Set(rows.map(nodeOf))].sort().reverse()
  return nodes.flatMap((node) => rows.filter((row) => nodeOf(row) === node)).map(({ node_name: _, ...row }) => row)
}

/** Queries of fields and values that the rows have. */
function queriesOf(rows: readonly Row[]): fc.Arbitrary<Record<string, string>> {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter(
    (name) => !/^(agent_id|node_name)$/.test(name),
  )
  const field = fc.constantFrom(...names)
  const parts = {
    offset: fc.constantFrom('0', '1', '5', '2000'),
    limit: fc.constantFrom('1', '7', '1000'),
    sort: fc.tuple(fc.constantFrom('', '-'), field).map(([sign, name]) => sign + name),
    search: fc.constantFrom('a', 'e', 'o', 'DE'),
    select: fc.uniqueArray(field, { minLength: 1, maxLength: 3 }).map((chosen) => chosen.join(',')),
  }
  return fc
    .tuple(fc.record(parts), fc.subarray(Object.keys(parts), { maxLength: 3 }))
    .map(([query, chosen]) => Object.fromEntries(Object.entries(query).filter(([name]) => chosen.includes(name))))
}

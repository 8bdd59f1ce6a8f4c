import t from 'tap'
import { allRows, expected, joinedCluster, type Kind } from './cluster.ts'

const kinds: readonly Kind[] = [
  'hardware',
  'os',
  'netaddr',
  'netiface',
  'netproto',
  'packages',
  'ports',
  'processes',
  'hotfixes',
  'ciscat',
]

const pathOf = (kind: Kind) => (kind === 'ciscat' ? '/experimental/ciscat/results' : `/experimental/syscollector/${kind}`)

t.test('joined answers are those of one node that holds everything', async (t) => {
  const { simulator, get } = await joinedCluster(t)
  for (const kind of kinds) {
    const rows = allRows(simulator, kind)
    for (const query of [{}, { sort: '-scan_id', limit: '7', offset: '3' }, { limit: '1', offset: '20' }]) {
      const given = await get(`${pathOf(kind)}?${new URLSearchParams(query)}`)
      t.strictSame(given.body, { error: 0, data: expected(rows, kind, query) }, `${kind} ${JSON.stringify(query)}`)
    }
  }
  t.strictSame(simulator.thrown, [])
})

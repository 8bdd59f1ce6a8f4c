import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import { v4Contract } from '../../../src/contracts/v4/index.ts'

t.test('a read of both contracts has the same priority in both', (t) => {
  const prioritiesOf = (records: typeof catalogue | typeof v4Contract) =>
    new Map(records.map(({ method, path, priority }) => [`${method} ${path}`, priority]))
  const [v3, v4] = [prioritiesOf(catalogue), prioritiesOf(v4Contract)]
  const shared = [...v3.keys()].filter((name) => name.startsWith('GET ') && v4.has(name))
  t.ok(shared.includes('GET /cluster/nodes'))
  for (const name of shared) t.equal(v3.get(name), v4.get(name), name)
  t.end()
})

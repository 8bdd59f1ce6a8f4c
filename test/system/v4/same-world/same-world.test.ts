import t from 'tap'
import { exampleOf } from '../../../../packages/reference/src/example.ts'
import { catalogue } from '../../../../src/contracts/index.ts'
import { isInRelease } from '../../../../src/core/node-call.ts'
import { differences, type Side, startBoth, stateOf } from './clusters.ts'
import { knownDifferences, knownStates } from './known.ts'
import { reads } from './reads.ts'
import { type Write, writes } from './writes.ts'

const CONCURRENT_READS = 8
const OTHERWISE = 'its translation in src/contracts, its rows in packages/simulator/src, or known.ts beside this test'

/** What nodes have since a later release, or never, has no equal in front of this cluster. */
const examples = catalogue
  .filter(({ method, target }) => method === 'GET' && target.kind !== 'edge')
  .filter(({ translation }) => isInRelease(translation?.releases, '4.0'))
  .map((endpoint) => exampleOf(endpoint).url)

/** Returns the differences between the responses of both clusters, without the known ones. */
async function compare([v3, v4]: readonly [Side, Side], request: Write): Promise<string[]> {
  const [expected, found] = await Promise.all([v3.ask(request), v4.ask(request)])
  const name = `${request.method} ${request.path}`
  const known = knownDifferences.filter(({ requests }) => requests.test(name))
  return differences(expected, found).filter((difference) => !known.some(({ fields }) => fields.test(difference)))
}

t.test('reads have the same responses in front of both layouts of one cluster', async (t) => {
  const both = await startBoth(t)
  const paths = [...new Set([...examples, ...reads])]
  while (paths.length > 0) {
    const some = paths.splice(0, CONCURRENT_READS)
    const found = await Promise.all(some.map((path) => compare(both, { method: 'GET', path })))
    for (const [at, path] of some.entries()) t.same(found[at], [], `${path}: ${OTHERWISE}`)
  }
  t.same([...both[0].simulator.thrown, ...both[1].simulator.thrown], [])
})

t.test('writes have the same responses and effects in front of both layouts of one cluster', async (t) => {
  const both = await startBoth(t)
  const [v3, v4] = both
  for (const request of writes) t.same(await compare(both, request), [], `${request.method} ${request.path}`)
  const changed = differences(stateOf(v3.simulator), stateOf(v4.simulator))
  t.same(
    changed.filter((difference) => !knownStates.some(({ fields }) => fields.test(difference))),
    [],
    'the clusters are equal after all writes',
  )
  t.same([...v3.simulator.thrown, ...v4.simulator.thrown], [])
})

/** What the console of another replica has added to its report. Other programs may write to the same Redis. */
import t from 'tap'
import { readReplicas } from '../../server/reported-replicas.ts'

const rates = { perSecond: 4, callsPerSecond: 1, savedPerSecond: 100, failuresPerSecond: 0 }
const replica = { name: 'two', version: '1.0.0', ready: true, nodes: [], ago: 2000 }

t.test('a report without valid rates or joined responses is not shown', async (t) => {
  const reports = [{ rates: null }, {}, { rates: { ...rates, perSecond: '<img>' } }, { rates, joined: [{ ago: 1 }] }]
  const replicas = [...reports, { rates }].map((parts, at) => ({ ...replica, ...parts, name: `${at}` }))
  t.strictSame(
    readReplicas({ replicas: () => replicas })?.()?.map(({ name }) => name),
    ['4'],
  )
})

t.test('the age of a joined response includes that of its report', async (t) => {
  const joined = [{ ago: 1000, route: '/agents', ms: 5, nodes: [] }]
  const [other] = readReplicas({ replicas: () => [{ ...replica, rates, joined }] })?.() ?? []
  t.equal(other?.joined?.[0]?.ago, 3000)
})

t.test('it is shown whether replicas share nothing, or Redis is unreachable', async (t) => {
  t.equal(readReplicas({}), undefined)
  t.equal(readReplicas({ replicas: () => undefined })?.(), undefined)
})

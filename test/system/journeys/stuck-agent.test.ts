/** The first reads about an agent whose database is stuck, before the edge knows: they hold one slot of the node. */
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { simulated } from '../../support/simulated.ts'
import { ask } from './edge-mode.ts'

const READS = [
  '/syscheck/001',
  '/syscollector/001/os',
  '/sca/001',
  '/rootcheck/001',
  '/syscollector/001/packages',
  '/ciscat/001/results',
]

/** However long the machine takes. */
const SILENCE = { minWait: 60_000, maxWait: 60_000, probeTimeout: 1_000, probes: 2, pause: 50 }
const NOTHING_IS_LATE = { cluster: { ejection: { silence: SILENCE } } }

t.test('the first reads about an agent whose database is stuck leave slots to all others', async (t) => {
  const settings = { cluster: { limits: { inFlight: 4 } }, cache: { enabled: false } }
  const { edge, simulator } = await simulated(t, { agents: 3, workers: 0 }, { settings, times: NOTHING_IS_LATE })
  let recover: () => void = () => undefined
  const busyUntil = new Promise<void>((resolve) => {
    recover = resolve
  })
  await simulator.faults.set('master', { busyUntil, only: ({ url }) => url.includes('/001') })
  const sent = () => simulator.seen.filter(({ url }) => url.includes('/001')).length
  const stuck = READS.map((path) => ask(edge, `GET ${path}`))
  await eventually(() => sent() === 1)
  const others = ['/agents', '/syscheck/002', '/rules?limit=1', '/manager/info']
  for (const path of others) t.equal((await ask(edge, `GET ${path}`)).status, 200, path)
  t.equal(sent(), 1, 'reads that hold a slot')
  recover()
  for (const { status } of await Promise.all(stuck)) t.equal(status, 200, 'answered in the end')
  t.equal(sent(), READS.length)
})

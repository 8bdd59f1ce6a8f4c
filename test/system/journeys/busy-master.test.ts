import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { sendAndLeaveLater } from '../../support/raw.ts'
import { simulated } from '../../support/simulated.ts'
import { ask } from './edge-mode.ts'

const SLOW = '/'
/** Workers answer once the edge has known the data for this time. */
const LAG_MS = 4000

t.test('a worker answers for a busy master, but after a write to rules only the master does', async (t) => {
  // With snapshots, the queries of one collection are one call.
  const cache = { replicationLag: `${LAG_MS}ms`, snapshots: { groups: [] } }
  const settings = { cache, cluster: { discover: false, limits: { inFlight: 1 } } }
  const { edge, simulator } = await simulated(t, { workers: 1, agents: 3 }, { settings })
  /** Occupies the only slot of the master until the returned function is called. */
  const occupy = async () => {
    let end = () => {}
    const busyUntil = new Promise<void>((resolve) => {
      end = resolve
    })
    await simulator.faults.set('master', { busyUntil, only: ({ url }) => url === SLOW })
    const before = simulator.seen.length
    const leave = sendAndLeaveLater(`${edge.url}${SLOW}`, { authorization: edge.authorization('admin') })
    await eventually(() => simulator.seen.slice(before).some(({ url }) => url === SLOW))
    return async () => {
      await leave()
      end()
    }
  }
  const nodesOf = (path: string) => simulator.seen.filter(({ url }) => url === path).map(({ node }) => node)

  for (const path of ['/rules?limit=3', '/decoders?limit=3'])
    t.match((await ask(edge, `GET ${path}`)).body, { error: 0 })
  await sleep(LAG_MS)

  const first = await occupy()
  t.match(await ask(edge, 'GET /rules?limit=1'), { status: 200, body: { error: 0 } })
  t.strictSame(nodesOf('/rules?limit=1'), ['worker-1'])
  await first()

  const upload = await fetch(`${edge.url}/manager/files?path=etc/rules/local_rules.xml&overwrite=true`, {
    method: 'POST',
    headers: { authorization: edge.authorization('admin'), 'content-type': 'application/xml' },
    body: '<!-- Local rules -->\n<group name="local,">\n</group>\n',
  })
  t.match(await upload.json(), { error: 0 })

  const second = await occupy()
  const later = ask(edge, 'GET /rules?limit=2')
  const other = await ask(edge, 'GET /decoders?limit=1')
  t.match(other, { status: 200, body: { error: 0 } }, 'what the write did not change')
  t.strictSame(nodesOf('/decoders?limit=1'), ['worker-1'])
  await second()
  t.match(await later, { status: 200, body: { error: 0 } })
  t.strictSame(nodesOf('/rules?limit=2'), ['master'])
})

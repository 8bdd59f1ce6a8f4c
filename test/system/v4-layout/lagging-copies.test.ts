/** Workers of the v4 layout copy rules, decoders and lists from the master, some seconds after a write. */
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { v4Cluster } from './cluster.ts'

const RULES = (level: number) =>
  `<group name="own,"><rule id="100500" level="${level}"><description>own</description></rule></group>`

t.test('after a write, no worker stands in for the master with an older copy', async (t) => {
  const { send, simulator } = await v4Cluster(
    t,
    { workers: 1, agents: 1, copyDelay: Number.POSITIVE_INFINITY },
    { cache: { replicationLag: '600ms' } },
  )
  const read = async () => {
    const { data, status } = await send('/rules/100500')
    const items = (data as { readonly items?: readonly { readonly level: number }[] } | undefined)?.items
    return { status, levels: items?.map(({ level }) => level) }
  }
  const written = await send('/manager/files?path=etc/rules/own.xml&overwrite=true', {
    method: 'POST',
    headers: { 'content-type': 'application/xml' },
    body: RULES(5),
  })
  t.equal(written.error, 0)
  await simulator.faults.set('master', { apiDown: true })
  t.match(await read(), { status: 502 }, 'the worker is not asked')
  t.notOk(simulator.seen.some(({ node, url }) => node !== 'master' && url.startsWith('/rules')))
  await eventually(async () => (await read()).status === 200)
})

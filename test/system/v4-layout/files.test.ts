/** v4 layout: v3 clients write, read and delete files of the manager. */
import t from 'tap'
import { v4Cluster } from './cluster.ts'

const RULES = '<group name="local,"><rule id="100900" level="5"><description>mine</description></rule></group>'
const put = (body: string, type = 'application/xml') => ({ method: 'POST', body, headers: { 'content-type': type } })

t.test('a file is written, read as it was sent, replaced and deleted', async (t) => {
  const { send } = await v4Cluster(t)
  const path = '/manager/files?path=etc/rules/mine.xml'
  t.match(await send(path), { error: 1005 })
  t.match(await send(path, put(RULES)), { error: 0, data: 'File updated successfully' })
  t.match(await send(path), { error: 0, data: RULES })
  t.match(await send(path, put(RULES)), { error: 1905 })
  const other = RULES.replace('mine', 'other')
  t.match(await send(`${path}&overwrite=true`, put(other)), { error: 0 })
  t.match(await send(path), { error: 0, data: other })
  t.match(await send(path, { method: 'DELETE' }), { error: 0, data: 'File was deleted' })
  t.match(await send(path), { error: 1005 })
  t.match(await send(path, { method: 'DELETE' }), { error: 1906 })
})

t.test('no list of rules is served that is older than a write', async (t) => {
  const { send } = await v4Cluster(t, {}, { cache: { ttl: { rules: '10m' } } })
  const rules = async () => await send('/rules?search=mine')
  t.match((await rules()).data, { totalItems: 0 })
  t.match((await rules()).headers.get('cache-status'), /hit/)
  t.match(await send('/manager/files?path=etc/rules/mine.xml', put(RULES)), { error: 0 })
  t.match((await rules()).data, { items: [{ id: 100900, file: 'mine.xml', path: 'etc/rules' }], totalItems: 1 })
})

t.test('the main configuration of a worker is its own', async (t) => {
  const { simulator, send } = await v4Cluster(t)
  const path = '/cluster/worker-1/files?path=etc/ossec.conf'
  const before = (await send(path)).data as string
  const after = before.replace('<logall>no</logall>', '<logall>yes</logall>')
  t.not(after, before)
  t.match(await send(path, put(after)), { error: 1905 })
  t.match(await send(`${path}&overwrite=true`, put(after)), { error: 0, data: 'File updated successfully' })
  t.match(await send(path), { error: 0, data: after })
  t.match((await send('/cluster/worker-1/configuration?section=global&field=logall')).data, 'yes')
  t.match((await send('/manager/configuration?section=global&field=logall')).data, 'no')
  t.strictSame(simulator.thrown, [])
})

t.test('the rules of a worker are refused before a node is called', async (t) => {
  const { simulator, send } = await v4Cluster(t)
  const path = '/cluster/worker-1/files?path=etc/rules/mine.xml'
  simulator.seen.length = 0
  for (const init of [{}, put(RULES), { method: 'DELETE' }]) {
    t.match(await send(path, init), { status: 501, error: 938, message: /worker-1/ })
  }
  t.strictSame(
    simulator.seen.filter(({ url }) => /files|rules/.test(url)),
    [],
  )
})

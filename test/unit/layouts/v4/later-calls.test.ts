/** v4 layout: a request of several calls fails as the first of them that fails. */
import t from 'tap'
import { ask, items } from './recorded-node.ts'

const listed = { body: items([{ filename: 'local_rules.xml', relative_dirname: 'etc/rules', status: 'enabled' }]) }
const page = { body: { ...items([]), data: { affected_items: [{}], total_affected_items: 900, failed_items: [] } } }

const requests = [
  ['/manager/info', {}, {}, 'GET /cluster/status'],
  ['/manager/info', {}, {}, 'GET /cluster/local/info'],
  [
    '/manager/logs',
    { limit: '1000' },
    { 'GET /manager/logs?limit=500&offset=0': page },
    'GET /manager/logs?limit=400&offset=500',
  ],
  [
    '/manager/files',
    { path: 'etc/rules/local_rules.xml' },
    { 'GET /rules/files?filename=local_rules.xml': listed },
    'GET /rules/files/local_rules.xml?raw=true',
  ],
  [
    '/manager/files',
    { path: 'etc/rules/local_rules.xml', validation: 'true' },
    { 'GET /rules/files?filename=local_rules.xml': listed },
    'GET /rules/files/local_rules.xml',
  ],
] as const

for (const [path, query, replies, timesOut] of requests) {
  t.test(`no response to ${timesOut} is no response to ${path}`, async (t) => {
    const asked = ask('GET', path, { query, replies, timesOut })
    await t.rejects(asked, { fault: 'timeout', message: `no response to ${timesOut}` })
    const { calls } = (await asked.catch((error: unknown) => error)) as { readonly calls: readonly string[] }
    t.equal(calls.at(-1), timesOut, 'no call follows')
  })
}

t.test('no call may take longer than what the calls before it left', async (t) => {
  const { sent } = await ask('GET', '/manager/info')
  const times = sent.map(({ timeout = 0 }) => timeout)
  t.equal(times.length, 3)
  t.strictSame(
    times,
    [...times].sort((a, b) => b - a),
  )
  t.ok(times.every((time) => time > 0 && time <= 10_000))
})

t.test('a write that gets no response may have been carried out', async (t) => {
  const path = 'etc/ossec.conf'
  const body = { kind: 'upload', type: 'application/xml', bytes: Buffer.from('<ossec_config/>') } as const
  const timesOut = 'PUT /manager/configuration'
  const failure = await ask('POST', '/manager/files', { query: { path, overwrite: 'true' }, body, timesOut }).catch(
    (error: unknown) => error,
  )
  t.match(failure, { fault: 'timeout', sent: true })
})

/** What the recorded cluster could not show: data that nodes download, and operations of later releases. */
import t from 'tap'
import { startV4 } from './ask.ts'

const body = (fields: unknown) => ({ type: 'application/json', body: JSON.stringify(fields) })

t.test('tables of MITRE refer to each other', async (t) => {
  const { ask } = await startV4(t, { agents: 1 })
  const techniques = await ask('GET /mitre/techniques?q=external_id=T1110')
  const [technique] = techniques.json?.data?.affected_items ?? []
  t.match(technique, { name: 'Brute Force', url: 'https://attack.mitre.org/techniques/T1110' })
  const [tactic] = (technique?.tactics ?? []) as string[]
  const tactics = await ask(`GET /mitre/tactics?tactic_ids=${tactic}`)
  t.match(tactics.json?.data?.affected_items, [{ short_name: 'credential-access' }])
  t.equal((await ask('GET /mitre/references?limit=1')).json?.data?.total_affected_items, 30)
  t.match(await ask('GET /mitre/metadata'), { json: { message: 'MITRE metadata information was returned' } })
})

t.test('vulnerabilities of an agent agree with their counts, until release 4.7', async (t) => {
  const { ask } = await startV4(t, { agents: 1 })
  const list = await ask('GET /vulnerability/001?select=severity')
  const total = list.json?.data?.total_affected_items ?? 0
  t.ok(total > 0)
  const summary = await ask('GET /vulnerability/001/summary/severity')
  const counts = Object.values((summary.json?.data?.severity ?? {}) as Record<string, number>)
  t.equal(
    counts.reduce((sum, count) => sum + count, 0),
    total,
  )
  const later = await startV4(t, { agents: 1, version: '4.9.0' })
  t.equal((await later.ask('GET /vulnerability/001')).status, 404)
})

t.test('a session of log tests is open until it is closed', async (t) => {
  const { ask } = await startV4(t, { agents: 1 })
  const event = { event: 'Nov 22 10:00:00 web sshd[1]: message', log_format: 'syslog', location: 'test' }
  const token = (await ask('PUT /logtest', body(event))).json?.data?.token
  const again = await ask('PUT /logtest', body({ ...event, token }))
  t.match(again.json?.data, { token, messages: [], output: { decoder: { name: 'sshd' } } })
  t.match(await ask(`DELETE /logtest/sessions/${token}`), { json: { data: { codemsg: 0 } } })
  t.match(await ask(`DELETE /logtest/sessions/${token}`), { json: { data: { codemsg: -1 } } })
})

t.test('release 4.14 has inventories of users and services, and reloads of the ruleset', async (t) => {
  const { ask } = await startV4(t, { agents: 1, version: '4.14.0' })
  const root = await ask('GET /syscollector/001/users?q=user.name=root')
  t.match(root.json?.data?.affected_items, [{ user: { home: '/root' }, agent_id: '001' }])
  t.equal((await ask('GET /syscollector/001/services')).json?.data?.total_affected_items, 5)
  t.equal((await ask('GET /experimental/syscollector/users')).status, 404)
  const reloaded = await ask('PUT /cluster/analysisd/reload')
  t.equal(reloaded.json?.data?.total_affected_items, 3)
  t.equal((await ask('POST /events', body({ events: ['one', 'two'] }))).json?.data?.total_affected_items, 2)
  t.equal((await ask('GET /manager/version/check')).json?.data?.current_version, 'v4.14.0')
})

t.test('a worker whose own ruleset differs is not synchronized', async (t) => {
  const { sim, ask } = await startV4(t, { agents: 1 })
  const states = async () =>
    (await ask('GET /cluster/ruleset/synchronization')).json?.data?.affected_items?.map(({ synced }) => synced)
  t.same(await states(), [true, true, true])
  sim.world.nodes[1]?.files.set('etc/rules/other.xml', '<group name="x,"></group>')
  t.same(await states(), [true, false, true])
})

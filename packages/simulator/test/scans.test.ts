import t from 'tap'
import { ask, type Data, fieldsOf, type Item, makeWorld, NOON, recordedFields, refusalOf } from './data-ask.ts'

const MASTERS = '001'

function of(agent: string, query: Record<string, string> = {}) {
  return { params: { agent_id: agent }, query }
}

t.test('files and findings have the recorded fields', async (t) => {
  const world = makeWorld()
  const [file] = ask(world, 'GET /syscheck/:agent_id', of('000')).items
  t.same(fieldsOf(file ?? {}).sort(), [...recordedFields(/^\/syscheck\/001\?type=file/)].sort())
  const findings = ask(world, 'GET /rootcheck/:agent_id', of('000')).items
  const recorded = [...recordedFields(/^\/rootcheck\/000$/), 'pci', 'cis']
  t.same([...new Set(findings.flatMap((row) => fieldsOf(row)))].sort(), recorded.sort())
  const range = ask(world, 'GET /syscheck/:agent_id/last_scan', of('000'))
  t.match(range, { start: /^2020-03-0\d \d\d:\d\d:\d\d$/, end: /^2020-03-0\d/ })
  t.same(ask(world, 'GET /rootcheck/:agent_id/last_scan', of('020')), { start: 'ND', end: 'ND' }, 'never connected')
})

t.test('files are filtered', async (t) => {
  const world = makeWorld()
  const files = (query: Record<string, string>): Data => ask(world, 'GET /syscheck/:agent_id', of('000', query))
  const [hosts] = files({ file: '/etc/hosts' }).items
  t.equal(files({ hash: String(hosts?.sha1) }).totalItems, 1)
  t.equal(files({ md5: String(hosts?.md5) }).totalItems, 1)
  t.equal(files({ type: 'registry' }).totalItems, 0)
  t.same(fieldsOf(files({ summary: 'yes', limit: '1' }).items[0] ?? {}).sort(), ['date', 'file', 'mtime'])
  const times = files({}).items.map(({ mtime }) => String(mtime))
  t.same(times, times.toSorted(), 'oldest change first')
})

t.test('findings by requirement and status', async (t) => {
  const world = makeWorld()
  const found = (query: Record<string, string>) => ask(world, 'GET /rootcheck/:agent_id', of('000', query)).totalItems
  t.equal(found({ status: 'outstanding' }) + found({ status: 'solved' }), found({ status: 'all' }))
  const [cis] = ask(world, 'GET /rootcheck/:agent_id/cis', of('000')).items
  t.ok(found({ cis: String(cis) }) >= 1)
  t.ok(ask(world, 'GET /rootcheck/:agent_id/pci', of('000')).totalItems >= 1)
  t.equal(
    refusalOf(() => ask(world, 'GET /rootcheck/:agent_id/pci', of('000', { q: 'a=b' }))),
    1000,
  )
})

t.test('cleared findings return with the next scan', async (t) => {
  const world = makeWorld()
  const count = (kind: string) => ask(world, `GET /${kind}/:agent_id`, of(MASTERS)).totalItems
  const before = [count('syscheck'), count('rootcheck')]
  t.ok(before.every((rows) => rows > 0))
  t.equal(ask(world, 'DELETE /syscheck/:agent_id', of(MASTERS)), 'Syscheck database deleted')
  t.same([count('syscheck'), count('rootcheck')], [0, before[1]])
  ask(world, 'DELETE /rootcheck/:agent_id', of(MASTERS))
  t.same([count('syscheck'), count('rootcheck')], [0, 0])

  t.equal(ask(world, 'PUT /rootcheck/:agent_id', of(MASTERS)), 'Restarting Syscheck/Rootcheck on agent')
  t.same([count('syscheck'), count('rootcheck')], before, 'either call starts both scans')
  t.same(ask(world, 'GET /syscheck/:agent_id/last_scan', of(MASTERS)), { start: '2020-03-02 12:30:00', end: 'ND' })
})

t.test('a scan ends', async (t) => {
  let now = NOON
  const world = makeWorld({ now: () => now })
  ask(world, 'PUT /syscheck/:agent_id', of(MASTERS))
  now = new Date(NOON.getTime() + 60_000)
  const { start, end } = ask(world, 'GET /syscheck/:agent_id/last_scan', of(MASTERS))
  t.equal(start, '2020-03-02 12:30:00')
  t.match(end, /^2020-03-02 12:30:/)
})

t.test('all agents of a node, and the node itself', async (t) => {
  const world = makeWorld()
  const count = (node: string, agent: string) =>
    ask(world, 'GET /syscheck/:agent_id', { node, ...of(agent) }).totalItems
  ask(world, 'DELETE /experimental/syscheck', { node: 'worker-1' })
  t.same([count('worker-1', '000'), count('worker-1', '002')], [0, 0])
  t.ok(count('master', '000') > 0 && count('master', MASTERS) > 0, 'others keep theirs')
  ask(world, 'PUT /syscheck', { node: 'worker-1' })
  t.ok(count('worker-1', '000') > 0 && count('worker-1', '002') > 0)
  t.equal(ask(world, 'PUT /syscheck/:agent_id', of('000')), 'Restarting Syscheck/Rootcheck locally')
})

t.test('agents that are not active cannot scan', async (t) => {
  const world = makeWorld()
  t.equal(
    refusalOf(() => ask(world, 'PUT /syscheck/:agent_id', of('007'))),
    1604,
  )
  t.equal(
    refusalOf(() => ask(world, 'PUT /rootcheck/:agent_id', of('020'))),
    1605,
  )
  t.equal(
    refusalOf(() => ask(world, 'PUT /rootcheck/:agent_id', of('999'))),
    1701,
  )
})

t.test('policies count their checks', async (t) => {
  const world = makeWorld()
  const policies = ask(world, 'GET /sca/:agent_id', of('000')).items
  t.same(fieldsOf(policies[0] ?? {}).sort(), [...recordedFields(/^\/sca\/000$/)].sort())
  for (const policy of policies) {
    const params = { agent_id: '000', policy_id: String(policy.policy_id) }
    const checks = (query: Record<string, string> = {}): Data =>
      ask(world, 'GET /sca/:agent_id/checks/:policy_id', { params, query })
    t.equal(checks().totalItems, policy.total_checks)
    t.equal(checks({ result: 'failed' }).totalItems, policy.fail)
    t.equal(checks({ limit: '5' }).items.length, 3, 'each check is two rows of the join')
    const [check] = checks({ q: 'result=passed' }).items as readonly Item[]
    t.match(check, {
      id: Number,
      title: String,
      result: 'passed',
      compliance: [{ key: 'cis' }],
      rules: [{ rule: /->/ }],
    })
  }
  const params = { agent_id: '000', policy_id: 'nope' }
  t.same(ask(world, 'GET /sca/:agent_id/checks/:policy_id', { params }), { totalItems: 0, items: [] })
})

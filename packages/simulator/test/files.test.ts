import t from 'tap'
import { ask, fieldsOf, makeWorld, recordedFields, refusalOf } from './data-ask.ts'

t.test('XML is stored indented, as recorded', async (t) => {
  const world = makeWorld()
  const path = 'etc/rules/rec_rules.xml'
  const sent =
    '<group name="l,"><!-- why --><rule id="100900" level="5"><match>a &lt; b & c</match><description/></rule></group>'
  t.equal(ask(world, 'POST /manager/files', { query: { path }, text: sent }), 'File updated successfully')
  const stored =
    '<group name="l,">\n  <!-- why -->\n  <rule id="100900" level="5">\n    <match>a &lt; b & c</match>\n' +
    '    <description/>\n  </rule>\n</group>\n'
  t.equal(ask(world, 'GET /manager/files', { query: { path } }), stored)

  ask(world, 'POST /manager/files', { query: { path, overwrite: 'true' }, text: stored })
  t.equal(ask(world, 'GET /manager/files', { query: { path } }), stored, 'what is indented stays as it is')
})

t.test('invalid files are rejected', async (t) => {
  const world = makeWorld()
  const refused = (key: string, query: Record<string, string>, text = '') =>
    refusalOf(() => ask(world, key, { query, text }))
  const path = 'etc/rules/local_rules.xml'
  t.equal(refused('POST /manager/files', { path }, '<group name="l,"/>'), 1905)
  t.equal(refused('POST /manager/files', { path, overwrite: 'true' }, ' \n'), 1112)
  t.equal(refused('POST /manager/files', { path, overwrite: 'true' }, '<group>'), 1113)
  t.equal(refused('GET /manager/files', { path: 'etc/rules/nope.xml' }), 1005)
  t.equal(refused('DELETE /manager/files', { path: 'etc/rules/nope.xml' }), 1906)
  t.equal(refused('GET /manager/files', { path, validation: 'true' }), undefined)
  t.equal(refused('GET /manager/files', { path: 'etc/lists/audit-keys', validation: 'true' }), undefined)
  world.nodes[0]?.files.set('etc/lists/odd', 'a:<b\n')
  t.equal(
    refused('GET /manager/files', { path: 'etc/lists/odd', validation: 'true' }),
    1113,
    'lists are read as XML too',
  )
  world.nodes[0]?.files.set('etc/lists/bad', 'no colon\n')
  t.equal(refused('GET /manager/files', { path: 'etc/lists/bad', validation: 'true' }), 1800)
  t.equal(refused('GET /lists', {}), 1800)
})

t.test('the master copies its files to workers; a worker does not', async (t) => {
  const world = makeWorld()
  const put = (node: string, path: string) =>
    ask(world, 'POST /manager/files', { node, query: { path, overwrite: 'true' }, text: '<a><b>1</b></a>' })
  const holders = (path: string) => world.nodes.filter(({ files }) => files.has(path)).map(({ name }) => name)
  put('master', 'etc/rules/a.xml')
  t.same(holders('etc/rules/a.xml'), ['master', 'worker-1', 'worker-2'])
  put('worker-1', 'etc/rules/b.xml')
  t.same(holders('etc/rules/b.xml'), ['worker-1'])
  t.equal(ask(world, 'DELETE /manager/files', { query: { path: 'etc/rules/a.xml' } }), 'File was deleted')
  t.same(holders('etc/rules/a.xml'), [])

  put('worker-2', 'etc/ossec.conf')
  t.notMatch(world.nodes[0]?.files.get('etc/ossec.conf'), /<b>1<\/b>/)
})

t.test('lists: the page is cut first, and its length is the total', async (t) => {
  const world = makeWorld()
  const query = { offset: '1', limit: '2' }
  t.match(ask(world, 'GET /lists/files').items, [
    { path: 'etc/lists', name: 'audit-keys' },
    { path: 'etc/lists', name: 'security-eventchannel' },
    { path: 'etc/lists/amazon', name: 'aws-eventnames' },
    { path: 'etc/lists/amazon', name: 'aws-sources' },
  ])
  t.equal(ask(world, 'GET /lists', { query }).totalItems, 2)
  t.same(
    ask(world, 'GET /lists').items.map((item) => fieldsOf(item)),
    Array(4).fill(['path', 'items']),
  )

  const one = ask(world, 'GET /lists', { query: { path: 'etc/lists/audit-keys' } })
  t.match(one, { totalItems: 1, items: [[{ key: 'audit-w', value: 'write' }]] })
  t.equal(
    refusalOf(() => ask(world, 'GET /lists', { query: { path: 'etc/rules/local_rules.xml' } })),
    1801,
  )
  t.equal(
    refusalOf(() => ask(world, 'GET /lists', { query: { path: 'etc/lists/nope' } })),
    1006,
  )

  const path = 'etc/lists/mine/new'
  ask(world, 'POST /manager/files', { query: { path }, text: 'a: 1\n\nb:2' })
  t.equal(ask(world, 'GET /manager/files', { query: { path } }), 'a:1\nb:2\n')
  t.same(ask(world, 'GET /lists', { query: { path } }).items, [
    [
      { key: 'a', value: '1' },
      { key: 'b', value: '2' },
    ],
  ])
})

t.test('the main configuration is read by sections', async (t) => {
  const world = makeWorld()
  const whole = ask(world, 'GET /manager/configuration')
  const recorded = recordedFields(/^\/manager\/configuration$/)
  const known = [...recorded].map((field) => field.split('.')[0])
  t.same(
    Object.keys(whole).filter((section) => !known.includes(section)),
    [],
  )
  t.match(whole, {
    remote: [{ connection: 'secure', port: '1514' }],
    syscollector: { ports: { all: 'no', item: 'yes' } },
    cluster: { key: world.clusterKey, node_type: 'master', nodes: ['10.0.0.10'] },
    ruleset: { rule_dir: ['ruleset/rules', 'etc/rules'], rule_exclude: ['0215-policy_rules.xml'] },
  })
  const ask1 = (query: Record<string, string>) => ask(world, 'GET /manager/configuration', { query })
  t.match(ask1({ section: 'syscheck', field: 'directories' }), [{ check_all: 'yes', path: '/etc' }])
  t.equal(ask1({ section: 'global', field: 'logall' }), 'no')
  t.equal(
    refusalOf(() => ask1({ section: 'rules' })),
    1102,
  )
  t.equal(
    refusalOf(() => ask1({ section: 'client' })),
    1106,
  )
  t.equal(
    refusalOf(() => ask1({ section: 'global', field: 'nope' })),
    1103,
  )
  const text = '<ossec_config><global><logall>yes</logall></global></ossec_config>'
  ask(world, 'POST /manager/files', { query: { path: 'etc/ossec.conf', overwrite: 'true' }, text })
  t.same(ask(world, 'GET /manager/configuration'), { global: { logall: 'yes' } })
})

import t from 'tap'
import { RawFile } from '../src/model.ts'
import { ask, fieldsOf, makeWorld, recordedFields, refusalOf } from './data-ask.ts'

t.test('rules and decoders have the recorded fields', async (t) => {
  const world = makeWorld()
  const withoutDetails = (names: Iterable<string>) => [...names].filter((name) => !name.startsWith('details.')).sort()
  const kinds = [
    ['GET /rules', /^\/rules\?/],
    ['GET /decoders', /^\/decoders\?/],
    ['GET /rules/files', /^\/rules\/files/],
    ['GET /decoders/files', /^\/decoders\/files/],
  ] as const
  for (const [key, path] of kinds) {
    const [first] = ask(world, key).items
    t.same(withoutDetails(fieldsOf(first ?? {})), withoutDetails(recordedFields(path)), key)
  }
})

t.test('rules are sorted by id and filtered', async (t) => {
  const world = makeWorld()
  const all = ask(world, 'GET /rules', { query: { limit: '1000' } })
  t.ok(all.totalItems > 600 && all.items.length === all.totalItems)
  const ids = all.items.map(({ id }) => Number(id))
  t.same(
    ids,
    ids.toSorted((a, b) => a - b),
  )
  t.equal(new Set(ids).size, ids.length, 'each id once')
  t.match(all.items[0], { id: 1, groups: ['syslog'], details: { noalert: '1', category: 'syslog' } })

  const count = (query: Record<string, string>) => ask(world, 'GET /rules', { query }).totalItems
  const expected = (test: (rule: (typeof all.items)[number]) => boolean) => all.items.filter(test).length
  const level = ({ level }: { level?: unknown }) => Number(level)
  t.equal(
    count({ level: '2-4' }),
    expected((rule) => level(rule) >= 2 && level(rule) <= 4),
  )
  t.equal(
    count({ pci: '10.2.4' }),
    expected(({ pci }) => (pci as string[]).includes('10.2.4')),
  )
  t.equal(count({ group: 'sshd', status: 'enabled' }), expected(({ file }) => file === '0095-sshd_rules.xml') + 1)
  t.equal(
    count({ status: 'disabled' }),
    expected(({ file }) => file === '0215-policy_rules.xml'),
  )
  t.equal(count({ path: 'etc/rules' }), 1)
  t.equal(ask(world, 'GET /rules/:rule_id', { params: { rule_id: '5702' } }).totalItems, 1)
  t.equal(ask(world, 'GET /rules/:rule_id', { params: { rule_id: '99' } }).totalItems, 0)
})

t.test('catalogues list the values of the rules', async (t) => {
  const world = makeWorld()
  t.same(ask(world, 'GET /rules/gdpr').items, ['II_5.1.f', 'IV_32.2', 'IV_35.7.d'])
  const groups = ask(world, 'GET /rules/groups', { query: { limit: '3' } })
  t.equal(groups.items.length, 3)
  t.ok(groups.totalItems > 50)
  for (const standard of ['pci', 'hipaa', 'nist-800-53', 'gpg13']) {
    t.ok(ask(world, `GET /rules/${standard}`).totalItems >= 5, standard)
  }
})

t.test('decoders have parents and positions', async (t) => {
  const world = makeWorld()
  const named = ask(world, 'GET /decoders/:decoder_name', { params: { decoder_name: 'sshd-success' } })
  t.match(named.items, [{ position: 1, details: { parent: 'sshd', order: 'user, srcip' } }])
  const parents = ask(world, 'GET /decoders/parents').items
  t.ok(parents.length > 20 && parents.length < ask(world, 'GET /decoders').totalItems)
  t.ok(parents.every(({ details }) => (details as Record<string, unknown>).parent === undefined))
})

t.test('a file is downloaded unchanged; a missing file gives an error', async (t) => {
  const world = makeWorld()
  const file = ask(world, 'GET /rules/files', { query: { download: 'local_rules.xml', limit: '0' } })
  t.ok(file instanceof RawFile && file.text === world.nodes[0]?.files.get('etc/rules/local_rules.xml'))
  t.throws(() => ask(world, 'GET /decoders/files', { query: { download: 'nope.xml' } }), { code: 700, status: 404 })
})

t.test('an uploaded rule file is effective, and an invalid one fails all rules', async (t) => {
  const world = makeWorld()
  const rule = '<rule id="100900" level="5"><match>a</match><match>b</match><description>new</description></rule>'
  const put = (path: string, text: string) => ask(world, 'POST /manager/files', { query: { path }, text })
  put('etc/rules/mine.xml', `<group name="local,pci_dss_1.1,">${rule}</group>`)
  const found = ask(world, 'GET /rules', { node: 'worker-1', query: { file: 'mine.xml' } })
  t.match(found.items, [
    { id: 100900, level: 5, groups: ['local'], pci: ['1.1'], description: 'new', details: { match: ['a', 'b'] } },
  ])
  put('etc/rules/bad.xml', '<group name="local,"><rule level="5"></rule></group>')
  t.equal(
    refusalOf(() => ask(world, 'GET /rules')),
    1201,
  )
  t.match(ask(world, 'GET /manager/configuration/validation'), { status: 'KO', details: [/bad\.xml/] })
  ask(world, 'DELETE /manager/files', { query: { path: 'etc/rules/bad.xml' } })
  t.same(ask(world, 'GET /manager/configuration/validation'), { status: 'OK' })
})

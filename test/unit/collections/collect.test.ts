import t from 'tap'
import { collect } from '../../../packages/simulator/src/data/collect.ts'
import { parseCollectionRequest } from '../../../src/collections/request.ts'
import { nestRow } from '../../../src/collections/select.ts'
import { type Source, sources } from '../../../src/collections/sources.ts'
import type { Row } from '../../../src/collections/value.ts'

const now = new Date('2026-11-20T12:00:00Z')
const agents: Row[] = [
  {
    id: '001',
    name: 'web-01',
    ip: 'any',
    status: 'Active',
    lastKeepAlive: '2026-11-20 11:59:00',
    dateAdd: '2026-01-01 00:00:00',
    group: ['default', 'dmz'],
    os: { name: 'Ubuntu', major: '16', minor: '04' },
    version: 'Wazuh v3.11.4',
    internal_key: 'abcdef',
  },
  {
    id: '002',
    name: 'DB_02',
    ip: '10.0.0.2',
    status: 'Disconnected',
    lastKeepAlive: '2026-11-18 12:00:00',
    dateAdd: '2026-01-02 00:00:00',
    group: ['default'],
    os: { name: 'CentOS', major: '7' },
    version: 'Wazuh v3.9.0',
  },
  { id: '010', name: 'new', ip: 'any', status: 'Never connected', dateAdd: '2026-11-20 11:00:00' },
]
const rules: Row[] = [
  {
    id: 1,
    level: 0,
    description: 'Generic template',
    groups: ['syslog'],
    status: 'enabled',
    noalert: true,
    details: { category: 'web' },
  },
  { id: 20, level: 5, description: 'generic', groups: ['web', 'attack'], status: 'disabled', details: {} },
  { id: 'x', level: 12, groups: [], status: 'enabled' },
]

function found(rows: readonly Row[], source: Source, query: Record<string, string>): unknown[] {
  return collect(rows, parseCollectionRequest(query, now), source).items.map((row) => row.id)
}
const ofAgents = (query: Record<string, string>) => found(agents, sources.agents, query)
const ofRules = (query: Record<string, string>) => found(rules, sources.rules, query)

t.test('q filters a database', async (t) => {
  const expected: Record<string, string[]> = {
    'name=WEB-01': ['001'],
    'name~web': ['001'],
    'name~b_0': ['001', '002'],
    'name~b_02': ['002'],
    'id>2': ['010'],
    'id=2': ['002'],
    'id!=002': ['001', '010'],
    'id<1e1': ['001', '002'],
    'id>5.': ['010'],
    'id~0': ['010'],
    'os.major=7': ['002'],
    'os.name!=Ubuntu': ['002'],
    'os.name=null': ['010'],
    'os.name!=null': ['001', '002'],
    'group=dmz': ['001'],
    'group!=dmz': ['002'],
    'status=never connected': ['010'],
    'status!=active': ['002', '010'],
    'version=wazuhv3.9.0': ['002'],
    'lastKeepAlive<1d': ['001'],
    'lastKeepAlive>1d2h': ['002'],
    'lastKeepAlive<90': ['001'],
    'dateAdd>2026-01-02': ['002', '010'],
    'dateAdd<2026-01-02': ['001'],
    'name=all': ['001', '002', '010'],
    'name=all;id<5': ['001', '002'],
    'name=all,id>5': ['010'],
    '(id=1,id=2);status=active': ['001'],
    'id=1,id=2;status=active': ['001'],
    'id=2;status=active,id=1': ['001'],
  }
  for (const [q, ids] of Object.entries(expected)) t.strictSame(ofAgents({ q }), ids, q)
})

t.test('the wildcard _ matches one character, also outside of the basic multilingual plane', async (t) => {
  const rows = [{ id: '001', name: 'a😀b' }]
  t.strictSame(found(rows, sources.agents, { q: 'name~a_b' }), ['001'])
  t.strictSame(found(rows, sources.agents, { search: 'a_b' }), ['001'])
  t.strictSame(found(rows, sources.agents, { search: 'a__b' }), [])
})

t.test('a release without a number sorts as release 0', async (t) => {
  const rows = ['9', 'sid', '10.1', '2 beta'].map((major, at) => ({ id: `00${at}`, os: { major } }))
  t.strictSame(found(rows, sources.agents, { sort: 'os.version' }), ['001', '003', '000', '002'])
})

t.test('a q that a database does not support is refused, with and without rows', async (t) => {
  const refused: Record<string, number> = {
    'nope=1': 1408,
    'constructor=1': 1408,
    'internal_key~a': 1408,
    'os=1': 1408,
    'status<active': 1409,
    'status=away': 1729,
    'lastKeepAlive<soon': 1412,
    'lastKeepAlive<5x': 1411,
    'lastKeepAlive<1d2': 1411,
  }
  for (const [q, code] of Object.entries(refused)) {
    t.throws(() => ofAgents({ q }), { code }, q)
    t.throws(() => collect([], { q, now }, sources.agents), { code }, `${q} over nothing`)
  }
  t.throws(() => collect([], { q: 'mtime>1d', now }, sources.syscheck), { code: 1412 })
  t.throws(() => ofAgents({ q: 'a=<b' }), { code: 1407 })
})

t.test('q filters an array', async (t) => {
  const expected: Record<string, unknown[]> = {
    'description=generic': [20],
    'description=Generic template': [1],
    'description~Gen': [1],
    'description~template': [],
    'description!=generic': [1],
    'level>4': [20, 'x'],
    'level<5': [1],
    'level=abc': [],
    'id>x': [],
    'groups=web': [20],
    'groups!=web': [1, 'x'],
    'groups~att': [20],
    'details.category=web': [],
    'nope=1': [],
    'nope!=1': [],
    '(level=0,level=5);status=enabled': [1],
  }
  for (const [q, ids] of Object.entries(expected)) t.strictSame(ofRules({ q }), ids, q)
})

t.test('search matches texts and numbers of agents, and all values of arrays', async (t) => {
  t.strictSame(ofAgents({ search: 'WEB' }), ['001'])
  t.strictSame(ofAgents({ search: 'web_' }), ['001'], '_ matches any character')
  t.strictSame(ofAgents({ search: '1%4' }), ['001'], '% is any text')
  t.strictSame(ofAgents({ search: 'abcdef' }), ['001'], 'hidden fields are searched')
  t.strictSame(ofAgents({ search: '002' }), ['002'], 'digits match the number')
  t.strictSame(ofAgents({ search: 'Active' }), [], 'the state is not searched')
  t.strictSame(ofAgents({ search: '!ubuntu' }), ['002', '010'])
  t.strictSame(ofAgents({ search: '!"ubuntu"' }), ['002', '010'])
  t.strictSame(ofAgents({ search: ' ubuntu ' }), ['001'])
  t.strictSame(ofRules({ search: 'GENERIC' }), [1, 20])
  t.strictSame(ofRules({ search: 'web' }), [1, 20], 'nested values too')
  t.strictSame(ofRules({ search: 'true' }), [1])
  t.strictSame(ofRules({ search: 'category' }), [], 'names of fields are not searched')
  t.strictSame(collect([{ name: 'a', mergedSum: 'b' }], { search: 'b', now }, sources.groups).totalItems, 0)
})

t.test('named parameters filter by their rules', async (t) => {
  t.strictSame(ofAgents({ status: 'active,neverconnected' }), ['001', '010'])
  t.strictSame(ofAgents({ status: 'Never connected' }), ['010'])
  t.strictSame(ofAgents({ status: 'all' }), ['001', '002', '010'])
  t.strictSame(ofAgents({ group: 'DMZ', 'os.name': 'ubuntu' }), ['001'])
  t.strictSame(ofAgents({ version: 'Wazuhv3.9.0' }), ['002'])
  t.strictSame(ofAgents({ older_than: '30m' }), ['002', '010'])
  t.strictSame(ofAgents({ older_than: '1d' }), ['002'])
  t.strictSame(ofAgents({ constructor: 'x' }), [])
  t.strictSame(ofRules({ level: '5' }), [20])
  t.strictSame(ofRules({ level: '0-5' }), [1, 20])
  t.strictSame(ofRules({ group: 'web', status: 'disabled' }), [20])
  t.strictSame(ofRules({ group: 'WEB' }), [], 'arrays compare exactly')
  t.throws(() => ofAgents({ status: 'away' }), { code: 1729 })
  t.throws(() => ofRules({ status: 'on' }), { code: 1202 })
  t.throws(() => ofRules({ level: 'x' }), { code: 1203 })
  t.throws(() => collect([], { filters: { status: 'x' }, now }, sources.rootcheck), { code: 1603 })
  t.strictSame(
    found(
      [
        { id: 1, md5: 'a' },
        { id: 2, sha256: 'A' },
      ],
      sources.syscheck,
      { hash: 'a' },
    ),
    [1, 2],
  )
})

t.test('select reduces rows to the named fields', async (t) => {
  const select = (select: string) => collect(agents.slice(0, 1), { select, now }, sources.agents).items[0]
  t.strictSame(select('name,os.name,os.major'), { id: '001', name: 'web-01', os: { name: 'Ubuntu', major: '16' } })
  t.strictSame(select('os.build'), { id: '001' }, 'fields without a value are left out')
  for (const field of ['os', 'nope', 'internal_key', '', 'name,', '__proto__'])
    t.throws(() => select(field), { code: 1724 })
  t.notOk(
    JSON.stringify(collect(agents, { now }, sources.agents)).includes('abcdef'),
    'hidden fields are never returned',
  )
  t.throws(() => collect(rules, { select: 'id', now }, sources.rules), { code: 1000 })
  const scanned: Row[] = [{ scan_id: 1, scan_time: 't', tx_packets: 5, rx_bytes: 6, rx_errors: 0, name: 'eth0' }]
  const flat = (select: string) => collect(scanned, { select, now }, sources.netiface).items
  t.strictSame(flat('tx_packets'), [{ tx_packets: 5 }])
  t.strictSame(flat('rx_bytes,rx_errors,scan_id'), [{ rx: { bytes: 6, errors: 0 }, scan: { id: 1 } }])
})

t.test('flat rows are nested as the manager does it', async (t) => {
  const row = {
    inode: 1,
    tx_queue: 0,
    rx_queue: 0,
    local_ip: 'a',
    local_port: 1,
    remote_ip: 'b',
    scan_id: 3,
    vm_size: 4,
    ram_free: null,
  }
  const nested = {
    local: { ip: 'a', port: 1 },
    remote: { ip: 'b' },
    scan: { id: 3 },
    inode: 1,
    tx_queue: 0,
    rx_queue: 0,
    vm_size: 4,
  }
  t.equal(JSON.stringify(nestRow(row)), JSON.stringify(nested))
})

t.test('offset and limit select a page', async (t) => {
  const page = (query: Record<string, string>) =>
    collect(['a', 'b', 'c'], parseCollectionRequest(query, now), sources.catalogue)
  t.strictSame(page({ offset: '1', limit: '1' }), { items: ['b'], totalItems: 3 })
  t.strictSame(page({ offset: '9' }), { items: [], totalItems: 3 })
  t.strictSame(page({ sort: '-' }), { items: ['c', 'b', 'a'], totalItems: 3 })
  t.throws(() => page({ limit: '0' }), { code: 1406, message: '0 is not a valid limit' })
  t.throws(() => page({ limit: '1001' }), { code: 1405 })
  const many = Array.from({ length: 600 }, (_, id): Row => ({ id }))
  t.equal(collect(many, { now }, sources.rules).items.length, 500, '500 where nothing is asked')
  const lists: Row[] = [{ path: 'c' }, { path: 'b' }, { path: 'a' }]
  const cut = (query: Record<string, string>) => collect(lists, parseCollectionRequest(query, now), sources.lists)
  t.strictSame(cut({ offset: '1', limit: '1', sort: '+path' }), { items: [{ path: 'a' }], totalItems: 1 })
  t.equal(cut({ limit: '5000' }).totalItems, 3)
})

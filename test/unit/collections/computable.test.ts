import t from 'tap'
import { isComputable } from '../../../src/collections/computable.ts'
import { parseCollectionRequest } from '../../../src/collections/request.ts'
import { type Source, sources } from '../../../src/collections/sources.ts'
import type { Collection } from '../../../src/contracts/endpoint.ts'

type Queries = readonly (readonly [source: Collection, query: Readonly<Record<string, string>>])[]

function computes([name, query]: Queries[number]): boolean {
  return isComputable(parseCollectionRequest(query, new Date()), sources[name] as Source)
}

/** What the manager evaluates in another way than rows alone determine, by the reason. */
const byNode: Readonly<Record<string, Queries>> = {
  'an alternative beside another condition escapes from it': [
    ['netaddr', { q: 'proto=ipv4,iface=eth0', iface: 'eth1' }],
    ['netaddr', { q: 'proto=ipv4,iface=eth0', search: 'eth' }],
    ['syscheck', { q: 'size>1;uid=0,gid=0', hash: 'd41d8cd98f00b204e9800998ecf8427e' }],
    ['agents', { q: 'id=1,id=2' }],
    ['rootcheck', { q: 'cis~1,pci~2' }],
    ['netaddr', { iface: 'eth0,eth1' }],
    ['sca', { name: 'A,B' }],
  ],
  'stored times are not those of the rows': [
    ['syscheck', { search: '25-' }],
    ['rootcheck', { search: '202' }],
    ['rootcheck', { search: '!2026-11' }],
    ['sca', { search: '12:' }],
    ['packages', { search: '_' }],
    ['syscheck', { q: 'mtime>2026-11-20' }],
    ['rootcheck', { q: 'oldDay<2026-11-20' }],
    ['sca', { q: 'start_scan>2026' }],
    ['agents', { q: 'dateAdd<1d' }],
    ['agents', { q: 'id>1;lastKeepAlive>1d' }],
    ['agents', { older_than: '1d' }],
  ],
  'a state is several comparisons, or refused': [
    ['rootcheck', { q: 'status=outstandi' }],
    ['rootcheck', { q: 'status=solved;cis~1' }],
    ['agents', { q: 'status!=active' }],
    ['agents', { status: 'disconnected' }],
    ['agents', { q: 'group!=default' }],
  ],
  'words and parentheses have their own meaning': [
    ['packages', { q: 'name=all;size>1' }],
    ['packages', { q: 'name!=null' }],
    ['packages', { architecture: 'all' }],
    ['packages', { vendor: 'null' }],
    ['packages', { q: '((name=a,name=b);size>1)' }],
    ['packages', { q: Array.from({ length: 11 }, (_, at) => `name!=${at}`).join(';') }],
  ],
  'values are written into the text of a statement': [
    ['packages', { search: "it's" }],
    ['packages', { search: 'a:limit' }],
    ['packages', { search: 'é' }],
    ['ports', { state: '007' }],
    ['packages', { version: '1.0dev2' }],
    ['packages', { q: 'version~dev' }],
  ],
  'several sort fields have a random precedence': [['packages', { sort: 'name,size' }]],
  'numbers are printed with a fraction': [
    ['hardware', { search: '.0' }],
    ['hardware', { q: 'cpu_mhz~26' }],
  ],
  'a selection hides the other fields': [
    ['nodes', { select: 'name', q: 'type=worker' }],
    ['nodes', { select: 'name', search: 'worker' }],
    ['nodes', { select: 'name', sort: 'type' }],
  ],
  'texts are selected from other rows': [
    ['requirements', { search: '1' }],
    ['requirements', { sort: '-' }],
  ],
  'arrays refuse a sort without a field, and lists of states': [
    ['rules', { sort: '-' }],
    ['rules', { status: 'enabled,all' }],
    ['nodes', { type: 'master,all' }],
  ],
}

const byEdge: Queries = [
  ['netaddr', { q: 'proto=ipv4,iface=eth0' }],
  ['netaddr', { q: '(proto=ipv4,iface=eth0)', iface: 'eth1' }],
  ['netaddr', { q: 'iface~eth;(proto=ipv4,proto=ipv6)', search: 'eth' }],
  ['syscheck', { search: '25-x', sort: '-file' }],
  ['syscheck', { hash: 'd41d8cd98f00b204e9800998ecf8427e', q: 'size>1' }],
  ['rootcheck', { status: 'solved', cis: '1.4 Debian Linux' }],
  ['agents', { status: 'active', q: 'id>2;name~web' }],
  ['agents', { q: 'os.name=null', version: 'Wazuh v3.11.4' }],
  ['packages', { q: 'name=null', sort: 'name' }],
  ['hardware', { search: 'x', select: 'cpu_mhz' }],
  ['nodes', { q: 'type=worker', sort: 'name' }],
  ['nodes', { select: 'name', type: 'worker' }],
  ['rules', { status: 'all', sort: '-level', search: 'ssh' }],
  ['catalogue', { sort: '-', search: '1' }],
]

t.test('only what the rows determine is computed', async (t) => {
  for (const [reason, queries] of Object.entries(byNode)) {
    for (const query of queries) t.equal(computes(query), false, `${reason}: ${JSON.stringify(query)}`)
  }
  for (const query of byEdge) t.equal(computes(query), true, JSON.stringify(query))
})

/** Which requests of the v3 contract are computed from rows that the edge has converted. */
import t from 'tap'
import { derivationOf } from '../../../src/cache/snapshots/derivation.ts'
import type { ReadEndpoint } from '../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { edgeRead, V3_READS } from '../../support/edge-requests.ts'

const REQUESTS: Readonly<
  Record<string, { readonly computed: readonly string[]; readonly leftToNodes: readonly string[] }>
> = {
  '/agents': {
    computed: [
      'limit=5',
      'select=name',
      'sort=name',
      'q=id=001',
      'q=name!=a',
      'q=name~we',
      'status=active',
      'ip=10.0.0.1',
    ],
    leftToNodes: [
      'q=id~01',
      'q=name<web',
      'q=version=3.9',
      'sort=-',
      'q=name=null',
      'version=Wazuh 4.5',
      'q=os.version=7',
    ],
  },
  '/syscollector/:agent_id/packages': {
    computed: ['q=vendor!=a', 'q=vendor=a;name~a', 'search=ssl', 'format=deb', 'sort=-name'],
    leftToNodes: ['q=location!=1', 'q=install_time=null', 'q=vendor!=a;location!=1', 'sort=location', 'search="'],
  },
  '/syscheck/:agent_id': {
    computed: ['q=uname=root'],
    leftToNodes: ['type=file', 'q=perm=100644', 'q=type=registry', 'sort=perm', 'search=644', 'q=type!=file,size>1'],
  },
  '/rules': {
    computed: ['level=3', 'pci=10.2.4', 'file=a.xml', 'sort=level', 'q=level>3'],
    leftToNodes: ['file=a.xml,b.xml', 'search=pcre2', 'q=description~a', 'q=file<a', 'q=status=null'],
  },
  '/decoders': { computed: ['sort=name', 'path=ruleset'], leftToNodes: ['search=after_parent', 'path=a,b'] },
  '/agents/groups': { computed: ['limit=3'], leftToNodes: ['search=a_b', 'search="a"'] },
  '/lists/files': { computed: ['sort=name', 'search=aws', 'offset=1'], leftToNodes: [] },
}

t.test('requests of the v3 contract in front of nodes of the v4 layout', async (t) => {
  for (const [path, { computed, leftToNodes }] of Object.entries(REQUESTS)) {
    for (const query of computed) t.equal(isComputed(path, query, true), true, `${path}?${query} is computed`)
    for (const query of leftToNodes) t.equal(isComputed(path, query, true), false, `${path}?${query} is left to nodes`)
  }
  const before = Object.entries(REQUESTS).flatMap(([path, { leftToNodes }]) =>
    leftToNodes.filter((query) => isComputed(path, query, false)),
  )
  t.ok(before.length > 15, `${before.length} of these are computed in front of nodes of the v3 layout`)
})

function isComputed(path: string, query: string, convertsRows: boolean): boolean {
  const endpoint = catalogue.find((record) => record.path === path && record.method === 'GET') as ReadEndpoint
  const request = edgeRead(endpoint, { query: parametersOf(query) })
  return derivationOf(request, new Date(), { ...V3_READS, convertsRows }) !== undefined
}

function parametersOf(query: string): Readonly<Record<string, string>> {
  const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(query) ?? []
  return { [name]: value }
}

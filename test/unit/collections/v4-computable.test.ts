/** Which queries of the v4 contract are computed. */
import t from 'tap'
import { collectionContracts } from '../../../src/collections/contracts.ts'
import type { v4Sources } from '../../../src/collections/v4-sources.ts'

const { parse, isComputable, sources } = collectionContracts.v4

function isComputed(rows: keyof typeof v4Sources, text: string): boolean {
  const request = parse(Object.fromEntries(new URLSearchParams(text)), new Date())
  return request !== undefined && isComputable(request, sources[rows])
}

const computed = {
  agents: [
    'limit=100000&offset=7',
    'sort=-name',
    'select=id,os.name',
    'q=id!=000;status=active',
    'q=(name~web;ip=any)',
    'status=active,pending&name=web01',
    'agents_list=001,002&sort=-id',
    'distinct=false',
  ],
  rules: ['search=-sshd', 'level=2-4&status=all', 'q=level>9;filename=a.xml', 'select=id,details', 'nist-800-53=AU.14'],
  rootcheck: ['status=outstanding&search=ssh', 'select=cis', 'sort=cis', 'select=cis&distinct=true&sort=-cis'],
  catalogue: ['sort=-', 'search=10'],
  processes: ['q=nice<0,pid=7', 'pid=17', 'sort=resident'],
  scaChecks: ['select=id,title', 'result=failed'],
  pages: ['offset=5&limit=2'],
} as const

const leftToNode = {
  agents: [
    'search=web',
    'distinct=true',
    'sort=name,id',
    'sort=-',
    'sort= name',
    'sort=os.version',
    'q=lastKeepAlive>1d',
    'q=version=x',
    'q=name<b',
    'q=name=null',
    'q=id~0',
    'q=name=a,name=b',
    'older_than=1d',
    'group=web',
    'version=4.5.4',
    'name=a,b',
    "name=it's",
    'agents_list=001&status=active',
    'nope=1',
  ],
  rules: [
    'q=groups=web',
    'q=filename~a',
    'q=level>09',
    'q=(level>1)',
    'sort=level,id',
    'search="sshd"',
    'search=!sshd',
  ],
  groups: ['search=web', 'hash=sha1'],
  rootcheck: [
    'status=outstanding,solved',
    'q=status=outstanding',
    'search=2026',
    'q=date_last>2026-11-20',
    'distinct=true',
    'select=cis,status&distinct=true',
  ],
  catalogue: ['sort=-name'],
  netiface: ['name=eth0'],
  scaChecks: ['select=title', 'search=x', 'sort=compliance.key'],
  syscheck: ['search=x', 'summary=true', 'q=perm=x'],
  pages: ['sort=id', 'search=x', 'q=id=1', 'select=id', 'group_ids=1'],
} as const

t.test('what recorded responses show', async (t) => {
  for (const [rows, queries] of Object.entries(computed))
    for (const query of queries) t.ok(isComputed(rows as keyof typeof computed, query), `${rows}: ${query}`)
})

t.test('everything else is left to a node', async (t) => {
  for (const [rows, queries] of Object.entries(leftToNode))
    for (const query of queries) t.notOk(isComputed(rows as keyof typeof leftToNode, query), `${rows}: ${query}`)
})

/** The reads of the v4 contract, as URLs that a simulated cluster answers. */
import type { Endpoint } from '../../../../src/contracts/endpoint.ts'
import { v4Contract } from '../../../../src/contracts/v4/index.ts'

/** Objects that the simulated cluster has. */
const PATH_VALUES: Readonly<Record<string, readonly string[]>> = {
  agent_id: ['001', '002'],
  group_id: ['default', 'web'],
  node_id: ['master', 'worker-1'],
  component: ['agent'],
  configuration: ['client'],
  requirement: ['pci_dss'],
  filename: ['local_rules.xml'],
  file_name: ['agent.conf'],
  policy_id: ['cis_debian9'],
}

const OF_NODE = { component: ['analysis'], configuration: ['global'] }
/** Values where those above are not valid. */
const VALUES_OF: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  '/agents/:agent_id/stats/:component': { component: ['logcollector'] },
  '/decoders/files/:filename': { filename: ['local_decoder.xml'] },
  '/vulnerability/:agent_id/summary/:field': { field: ['severity'] },
  '/lists/files/:filename': { filename: ['audit-keys'] },
  '/cluster/:node_id/configuration/:component/:configuration': OF_NODE,
  '/manager/configuration/:component/:configuration': OF_NODE,
}

/** Queries that operations need, or that lead to other responses. */
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  '/agents': ['', 'limit=2&sort=-id', 'agents_list=001,002', 'search=a', 'q=id>001', 'select=id,name'],
  '/agents/stats/distinct': ['fields=os.platform'],
  '/agents/upgrade_result': ['agents_list=001'],
  '/groups': ['', 'groups_list=default,web', 'sort=-name'],
  '/rules': ['limit=5', 'level=3&limit=5', 'filename=local_rules.xml'],
  '/decoders': ['limit=5', 'filename=local_decoder.xml'],
  '/lists': ['', 'filename=audit-keys'],
  '/cluster/nodes': ['', 'nodes_list=worker-1'],
  '/security/users': ['', 'user_ids=1,2'],
  '/security/roles': ['', 'role_ids=1,2'],
  '/security/policies': ['limit=5', 'policy_ids=1,2'],
  '/cluster/:node_id/stats': ['date=2026-11-01'],
  '/manager/stats': ['date=2026-11-01'],
}

/** The edge answers these, or a response is not about rights. */
const LEFT_OUT: ReadonlySet<string> = new Set(['/security/user/authenticate'])

function valuesOf({ path }: Endpoint, name: string): readonly string[] {
  return VALUES_OF[path]?.[name] ?? PATH_VALUES[name] ?? ['001']
}

export function readsOfV4Contract(): string[] {
  return v4Contract
    .filter(({ method, target, path }) => method === 'GET' && target.kind !== 'edge' && !LEFT_OUT.has(path))
    .flatMap(urlsOf)
}

/** Returns the URLs of one read. The first one has the mandatory parameters, and no others where it may. */
export function urlsOf(record: Endpoint): readonly string[] {
  const names = [...record.path.matchAll(/:([^/]+)/g)].map(([, name = '']) => name)
  const filled = names.reduce<readonly string[]>(
    (paths, name) => paths.flatMap((path) => valuesOf(record, name).map((value) => path.replace(`:${name}`, value))),
    [record.path],
  )
  const queries = QUERIES[record.path] ?? ['']
  return filled.flatMap((path) => queries.map((query) => (query === '' ? path : `${path}?${query}`)))
}

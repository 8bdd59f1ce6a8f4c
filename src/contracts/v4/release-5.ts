/** What release 5.0 no longer has of the operations of releases 4, and what it has in their place. */
import type { V4Endpoint } from '../endpoint.ts'

const LAST = '4.14'

/** The first parts of paths below which everything is gone. */
const GONE: ReadonlySet<string> = new Set([
  ...['active-response', 'ciscat', 'decoders', 'events', 'experimental', 'lists', 'logtest', 'manager', 'rootcheck'],
  ...['rules', 'sca', 'syscheck', 'syscollector', 'tasks', 'vulnerability'],
])

const GONE_OPERATIONS: ReadonlySet<string> = new Set([
  'GET /agents/:agent_id/config/:component/:configuration',
  'GET /agents/:agent_id/daemons/stats',
  'GET /agents/:agent_id/group/is_sync',
  'GET /agents/:agent_id/stats/:component',
  'GET /agents/upgrade_result',
  'PUT /agents/node/:node_id/restart',
  'PUT /agents/reconnect',
  'PUT /cluster/analysisd/reload',
  'GET /cluster/ruleset/synchronization',
  'GET /cluster/:node_id/stats',
  'GET /cluster/:node_id/stats/analysisd',
  'GET /cluster/:node_id/stats/hourly',
  'GET /cluster/:node_id/stats/remoted',
  'GET /cluster/:node_id/stats/weekly',
  'GET /security/user/authenticate',
])

/** Operations of release 5.0 by those that they replace. */
const REPLACED_BY: Readonly<Record<string, string>> = {
  'GET /agents/:agent_id/daemons/stats': 'GET /cluster/{node_id}/daemons/stats',
  'PUT /agents/node/:node_id/restart': 'PUT /agents/restart',
  'PUT /cluster/analysisd/reload': 'PUT /cluster/reload',
  'GET /manager/api/config': 'GET /cluster/api/config',
  'GET /manager/configuration': 'GET /cluster/{node_id}/configuration',
  'PUT /manager/configuration': 'PUT /cluster/{node_id}/configuration',
  'GET /manager/configuration/:component/:configuration':
    'GET /cluster/{node_id}/configuration/{component}/{configuration}',
  'GET /manager/configuration/validation': 'GET /cluster/configuration/validation',
  'GET /manager/daemons/stats': 'GET /cluster/{node_id}/daemons/stats',
  'GET /manager/info': 'GET /cluster/{node_id}/info',
  'GET /manager/logs': 'GET /cluster/{node_id}/logs',
  'GET /manager/logs/summary': 'GET /cluster/{node_id}/logs/summary',
  'GET /manager/status': 'GET /cluster/{node_id}/status',
  'PUT /manager/analysisd/reload': 'PUT /cluster/reload',
  'PUT /manager/restart': 'PUT /cluster/restart',
  'GET /security/user/authenticate': 'POST /security/user/authenticate',
}

/** Returns the last release that has an operation, if release 5.0 does not have it. */
export function lastReleaseOf(method: string, path: string): { readonly until: typeof LAST } | undefined {
  const [, first = ''] = path.split('/')
  return GONE.has(first) || GONE_OPERATIONS.has(`${method} ${path}`) ? { until: LAST } : undefined
}

export function upToLastRelease(record: V4Endpoint): V4Endpoint {
  const { method, path, beyondSeed, releases } = record
  const last = beyondSeed ? undefined : lastReleaseOf(method, path)
  if (last === undefined) return record
  const replacedBy = REPLACED_BY[`${method} ${path}`]
  return Object.freeze({ ...record, releases: { ...last, ...releases }, ...(replacedBy && { replacedBy }) })
}

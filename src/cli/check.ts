import { pino } from 'pino'
import { buildCluster } from '../app/cluster.ts'
import { buildEdge } from '../app/index.ts'
import { redisPlace } from '../app/redis.ts'
import { checkAuditFile } from '../audit/open-file.ts'
import type { Config } from '../config/index.ts'
import { type ErrorCode, errorTable } from '../core/errors.ts'
import type { NodeFault, NodeResult } from '../core/node-call.ts'
import { openClient, RedisConnection } from '../redis/connection.ts'
import { DEFAULT_TIMES } from '../redis/options.ts'
import { startFault } from '../server/exit.ts'
import { CommandError, print, settingsFrom } from './terminal.ts'

/** `manager-edge check`: would it start? Reads everything that a start reads, and listens nowhere. */
export async function check(options: { config?: string; connect?: true }): Promise<void> {
  const config = await settingsFrom(options.config)
  await dryRun(config)
  for (const line of summary(config)) print(line)
  if (options.connect) await askAll(config)
  print('ok')
}

/** Certificates, users and keys are read as at a start; the audit is not begun, for the one who writes it may run. */
async function dryRun(config: Config): Promise<void> {
  try {
    const edge = await buildEdge({ ...config, log: { ...config.log, level: 'silent' } })
    await edge.drain(0)
    if (config.audit.file !== undefined) await checkAuditFile(config.audit.file)
  } catch (fault) {
    throw new CommandError(startFault(fault, config))
  }
}

/** The settings that matter, in words; no secret. */
function summary({ listen, operations, cluster, access }: Config): string[] {
  const { credentials } = cluster
  const own = credentials.mode === 'service'
  return [
    `listen       ${urlOf(listen)}`,
    `operations   ${urlOf(operations)}`,
    ...cluster.nodes.map(({ name, type, url }) => `${type.padEnd(12)} ${name} ${url}`),
    `distribution ${cluster.distribution}${cluster.discover && own ? ', nodes are discovered' : ''}`,
    `account      ${own ? credentials.username : 'that of the caller'}`,
    `users        ${access.users ?? 'those of the manager'}`,
  ]
}

function urlOf({ tls, host, port }: Config['operations' | 'listen']): string {
  return `${tls ? 'https' : 'http'}://${host}:${port}`
}

/** Nodes and Redis, each told in a line; what failed is counted at the end, so that all of it is told. */
async function askAll(config: Config): Promise<void> {
  const failed = await askNodes(config)
  const redis = await askRedis(config.cache.redis)
  if (redis !== undefined) print(redis.ok ? 'redis answers' : `redis fails: ${redis.why}`)
  const faults = [
    ...(failed > 0 ? [`${failed} of ${config.cluster.nodes.length} nodes cannot be used`] : []),
    ...(redis?.ok === false ? ['Redis cannot be used'] : []),
  ]
  if (faults.length > 0) throw new CommandError(`${faults.join(', ')}; mend what is said above`)
}

/** The rows whose remedies are told; a call of this process alone is never refused a place. */
const codes: Readonly<Partial<Record<NodeFault, ErrorCode>>> = {
  unreachable: 924,
  timeout: 922,
  unreadable: 925,
  tooLarge: 926,
  refusedCredentials: 927,
}

/** How many failed. */
async function askNodes(config: Config): Promise<number> {
  const { nodes, credentials, limits } = config.cluster
  const { username = '', password = '' } = credentials
  const withoutDiscovery = { ...config, cluster: { ...config.cluster, discover: false } }
  const cluster = await buildCluster(withoutDiscovery, pino({ level: 'silent' }))
  let failed = 0
  for (const { name } of nodes) {
    const result = await cluster.call({
      node: name,
      method: 'GET',
      path: '/version',
      retryable: true,
      expect: 'bytes',
      timeout: limits.timeout,
      signal: new AbortController().signal,
      priority: 'health',
      caller: 'check',
      endpoint: 'GET /version',
      requestId: 'check',
      ...(username !== '' && { credentials: { username, password } }),
    })
    const { answers, says } = verdict(result, credentials.mode)
    if (!answers) failed++
    print(`${name} ${says}`)
  }
  await cluster.close()
  return failed
}

/** With passthrough there is nobody to sign in as: a node that asks who it is has been reached. */
function verdict(result: NodeResult, mode: 'service' | 'passthrough'): { answers: boolean; says: string } {
  if (result.ok) return { answers: true, says: `answers (${result.response.status})` }
  const { fault, detail } = result
  if (mode === 'passthrough' && fault === 'refusedCredentials')
    return { answers: true, says: 'answers (401, it asks for credentials)' }
  const code = codes[fault]
  const remedy = code === undefined ? '' : `; ${errorTable[code].remedy}`
  return { answers: false, says: `fails: ${fault}, ${detail}${remedy}` }
}

export type RedisVerdict = { readonly ok: true } | { readonly ok: false; readonly why: string }

/**
 * Can the Redis of these settings be used? `undefined`: they name none. It asks as a guest: a store of its own would
 * count as one more replica, and writes elsewhere would wait for it once it is gone.
 */
export async function askRedis(redis: Config['cache']['redis']): Promise<RedisVerdict | undefined> {
  const place = await redisPlace(redis)
  if (place === undefined) return undefined
  const connection = new RedisConnection(openClient(place, DEFAULT_TIMES))
  try {
    await connection.waitUntilReady(DEFAULT_TIMES.bulkTimeout)
    const reply = await connection.send(DEFAULT_TIMES.bulkTimeout, (client) => client.info('memory'))
    if (!reply.ok) return { ok: false, why: `${reply.error}; look at cache.redis and at the user's ACL line` }
    return judgeEvictionPolicy(reply.value)
  } finally {
    connection.close()
  }
}

/** Fences and epochs have no time to live: a policy that may evict them makes answers wrong (docs/cache.md). */
function judgeEvictionPolicy(memory: string): RedisVerdict {
  const policy = /^maxmemory_policy:(allkeys-\w+)/m.exec(memory)?.[1]
  if (policy === undefined) return { ok: true }
  return { ok: false, why: `maxmemory-policy ${policy} drops what makes answers right; set volatile-lru` }
}

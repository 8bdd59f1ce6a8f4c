/** `manager-edge check`: checks the configuration and all files it names, and optionally the nodes and Redis. */
import { pino } from 'pino'
import { buildCluster, callVersion } from '../app/cluster.ts'
import { buildEdge } from '../app/index.ts'
import { redisConnectionOptions } from '../app/redis.ts'
import { checkAuditFile } from '../audit/open-file.ts'
import { createReloadableConfig } from '../config/reloadable.ts'
import type { Config } from '../config/schema.ts'
import type { NodeFault } from '../core/errors.ts'
import { type ErrorCode, errorTable } from '../core/errors.ts'
import type { NodeResult } from '../core/node-call.ts'
import { RedisConnection } from '../redis/connection.ts'
import { DEFAULT_TIMES } from '../redis/options.ts'
import { describeStartError } from '../server/exit.ts'
import { type DistributionProbe, probeDistribution } from '../upstream/distribution.ts'
import type { Cluster } from '../upstream/index.ts'
import { CommandError, loadCommandConfig, print } from './terminal.ts'

/** Reads everything that a start reads, but opens no port. */
export async function check(options: { config?: string; connect?: true }): Promise<void> {
  const config = await loadCommandConfig(options.config)
  await checkStart(config)
  for (const line of summarize(config)) print(line)
  if (options.connect) await checkConnections(config)
  print('ok')
}

/** Reads certificates, users and keys as a start does. Does not open the audit, because a running edge may write it. */
async function checkStart(config: Config): Promise<void> {
  try {
    const edge = await buildEdge({ ...config, log: { ...config.log, level: 'silent' } })
    await edge.drain(0)
    if (config.audit.file !== undefined) await checkAuditFile(config.audit.file)
  } catch (error) {
    throw new CommandError(describeStartError(error, config))
  }
}

/** Returns the most important settings, without secrets. */
function summarize({ listen, operations, cluster, access }: Config): string[] {
  const { credentials } = cluster
  const isService = credentials.mode === 'service'
  return [
    `listen       ${urlOf(listen)}`,
    `operations   ${urlOf(operations)}`,
    ...cluster.nodes.map(({ name, type, url }) => `${type.padEnd(12)} ${name} ${url}`),
    `distribution ${cluster.distribution}${cluster.discover && isService ? ', nodes are discovered' : ''}`,
    `account      ${isService ? credentials.username : "the caller's"}`,
    `users        ${access.users ?? "the manager's"}`,
  ]
}

function urlOf({ tls, host, port }: Config['operations' | 'listen']): string {
  return `${tls ? 'https' : 'http'}://${host}:${port}`
}

/** Prints a line for each node and for Redis. Throws only after the last line, so that all failures are printed. */
async function checkConnections(config: Config): Promise<void> {
  const failed = await checkNodes(config)
  const redis = await checkRedis(config.cache.redis)
  if (redis !== undefined) print(redis.ok ? 'redis: ok' : `redis: failed: ${redis.reason}`)
  const failures = [
    ...(failed > 0 ? [`${failed} of ${config.cluster.nodes.length} nodes cannot be used`] : []),
    ...(redis?.ok === false ? ['Redis cannot be used'] : []),
  ]
  if (failures.length > 0) throw new CommandError(`${failures.join(', ')}; the lines above have the reasons`)
}

/** The errors that have a remedy for this command. The queue of a node cannot be full here. */
const ERROR_CODES: Readonly<Partial<Record<NodeFault, ErrorCode>>> = {
  unreachable: 924,
  timeout: 922,
  unreadable: 925,
  tooLarge: 926,
  refusedCredentials: 927,
}

/** Returns how many nodes failed. */
async function checkNodes(config: Config): Promise<number> {
  const { nodes, credentials, limits, distribution, discover } = config.cluster
  const { username = '', password = '' } = credentials
  const withoutDiscovery = { ...config, cluster: { ...config.cluster, discover: false } }
  const cluster = await buildCluster(createReloadableConfig(withoutDiscovery), pino({ level: 'silent' }))
  // A node without other nodes cannot distribute anything, whatever its setting.
  const isAlone = nodes.length === 1 && !discover
  let failed = 0
  for (const { name } of nodes) {
    const call = {
      node: name,
      timeout: limits.timeout,
      caller: 'check',
      ...(username !== '' && { credentials: { username, password } }),
    }
    const result = describeResult(await callVersion(cluster, call), credentials.mode)
    const wrong = result.ok && !isAlone ? await findWrongDistribution(cluster, call, distribution) : undefined
    const { ok, text } = wrong ?? result
    if (!ok) failed++
    print(`${name}: ${text}`)
  }
  await cluster.close()
  return failed
}

/** What is wrong if the node distributes requests although the edge does, or if neither does. */
const WRONG_DISTRIBUTION = {
  manager: {
    found: 'off',
    text: 'it does not distribute requests, but cluster.distribution is manager; set cluster.distribution to edge, or enable distributed_api on the node',
  },
  edge: {
    found: 'on',
    text: 'it distributes requests itself, but cluster.distribution is edge; set cluster.distribution to manager, or disable distributed_api on the node',
  },
} as const

/** Returns `undefined` if the distribution is right, or if the node does not show it. */
async function findWrongDistribution(
  { call }: Cluster,
  probe: DistributionProbe,
  distribution: Config['cluster']['distribution'],
): Promise<NodeCheck | undefined> {
  const { found, text } = WRONG_DISTRIBUTION[distribution]
  return (await probeDistribution(call, probe)) === found ? { ok: false, text: `failed: ${text}` } : undefined
}

interface NodeCheck {
  readonly ok: boolean
  readonly text: string
}

/** Mode passthrough has no account to log in with, so a node that requires credentials counts as reachable. */
function describeResult(result: NodeResult, mode: 'service' | 'passthrough'): NodeCheck {
  if (result.ok) return { ok: true, text: `ok (status ${result.response.status})` }
  const { fault, detail } = result
  if (mode === 'passthrough' && fault === 'refusedCredentials')
    return { ok: true, text: 'ok (status 401, it requires credentials)' }
  const code = ERROR_CODES[fault]
  const remedy = code === undefined ? '' : `; ${errorTable[code].remedy}`
  return { ok: false, text: `failed: ${fault}, ${detail}${remedy}` }
}

export type RedisCheck = { readonly ok: true } | { readonly ok: false; readonly reason: string }

/**
 * Checks whether the edge can use this Redis; `undefined` if none is configured. Opens a plain connection: a store
 * would register as one more replica, and writes of other replicas would wait for it after this command has ended.
 */
export async function checkRedis(redis: Config['cache']['redis']): Promise<RedisCheck | undefined> {
  const options = await redisConnectionOptions(redis)
  if (options === undefined) return undefined
  const connection = new RedisConnection(options, { ...DEFAULT_TIMES, commandTimeout: redis.timeout })
  connection.open()
  try {
    await connection.waitUntilReady(DEFAULT_TIMES.bulkTimeout)
    const reply = await connection.send(DEFAULT_TIMES.bulkTimeout, (client) => client.info('memory'))
    if (!reply.ok) return { ok: false, reason: `${reply.error}; check cache.redis and the ACL of the user` }
    return checkEvictionPolicy(reply.value)
  } finally {
    connection.close()
  }
}

/** Write fences and tag epochs have no TTL. If Redis evicted them, stored responses would be wrong (docs/cache.md). */
function checkEvictionPolicy(memoryInfo: string): RedisCheck {
  const policy = /^maxmemory_policy:(allkeys-\w+)/m.exec(memoryInfo)?.[1]
  if (policy === undefined) return { ok: true }
  return { ok: false, reason: `maxmemory-policy ${policy} evicts write fences and tag epochs; set volatile-lru` }
}

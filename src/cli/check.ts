/** `manager-edge check`: checks the configuration and all files it names, and optionally the nodes, Redis and the issuer. */

import { connect as connectPlain } from 'node:net'
import { connect as connectSecure } from 'node:tls'
import { redisConnectionOptions } from '../app/base.ts'
import { portsOf } from '../app/contracts.ts'
import { buildEdge } from '../app/index.ts'
import { issuerSettings } from '../app/operations.ts'
import { loadConsole } from '../app/packages.ts'
import type { Config } from '../config/schema.ts'
import { RedisConnection } from '../replicas/connection.ts'
import { DEFAULT_TIMES } from '../replicas/options.ts'
import { type DeniedRights, findDeniedRights } from '../replicas/rights.ts'
import { describeStoreFailure } from '../replicas/store-status.ts'
import { describeStartError } from '../server/exit.ts'
import { fileFindings } from './certificate-findings.ts'
import { checkNodes } from './check-nodes.ts'
import { describeFinding, type Finding, failure } from './output.ts'
import { redisPlaces, type ServerAddress } from './places.ts'
import { CommandError, loadCommandConfig, print } from './terminal.ts'

/** Reads everything that a start reads, but opens no port. */
export async function check(options: { config?: string; connect?: true }): Promise<void> {
  const config = await loadCommandConfig(options.config)
  const plugins = await checkStart(config)
  for (const line of summarize(config)) print(line)
  for (const line of plugins) print(`plugin       ${line}`)
  const report = (finding: Finding): void => print(describeFinding(finding))
  const certificates = (await fileFindings(config)).filter(({ status }) => status !== 'ok')
  for (const finding of certificates) report(finding)
  const ended = certificates.some(({ status }) => status === 'failed') ? ['a certificate has ended'] : []
  const failures = [...ended, ...(options.connect ? await checkConnections(config, report) : [])]
  if (failures.length > 0) throw new CommandError(`${failures.join(', ')}; the lines above have the reasons`)
  print('ok')
}

/** Reads certificates, users, keys and plugins as a start does. Returns a line for each plugin. Does not open the audit, because a running edge may write it. */
export async function checkStart(config: Config): Promise<readonly string[]> {
  try {
    const edge = await buildEdge({ ...config, log: { ...config.log, level: 'silent' } })
    await edge.drain(0)
    return edge.plugins
  } catch (error) {
    throw new CommandError(describeStartError(error, config))
  }
}

/** Returns the most important settings, without secrets. */
function summarize(config: Config): string[] {
  const { listen, operations, cluster, access } = config
  const { credentials } = cluster
  const isService = credentials.mode === 'service'
  return [
    ...portsOf(listen).map(({ contract, port }) => `listen       ${urlOf({ ...listen, port })} (${contract} contract)`),
    `operations   ${urlOf(operations)}`,
    ...cluster.nodes.map(({ name, type, url }) => `${type.padEnd(12)} ${name} ${url}`),
    `layout       ${cluster.layout}`,
    `distribution ${cluster.distribution}${cluster.discover && isService ? ', nodes are discovered' : ''}`,
    `account      ${isService ? credentials.username : "the caller's"}`,
    `users        ${access.users ?? "the manager's"}`,
  ]
}

function urlOf({ tls, host, port }: Config['operations' | 'listen']): string {
  return `${tls ? 'https' : 'http'}://${host}:${port}`
}

/** Reports each node, Redis and the issuer of sign-ins. Returns what cannot be used. */
export async function checkConnections(config: Config, report: (finding: Finding) => void): Promise<readonly string[]> {
  const failed = await checkNodes(config, report)
  const redis = await checkRedis(config.cache.redis)
  if (redis !== undefined) report(findingOf('redis', redis))
  const issuer = await checkIssuer(config)
  if (issuer !== undefined) report(findingOf('sign-in', issuer))
  return [
    ...(failed > 0 ? [`${failed} of ${config.cluster.nodes.length} nodes cannot be used`] : []),
    ...(redis?.ok === false ? ['Redis cannot be used'] : []),
    ...(issuer?.ok === false ? ['the issuer of sign-ins cannot be used'] : []),
  ]
}

function findingOf(check: string, found: Check): Finding {
  return found.ok ? { check, status: 'ok', text: 'ok' } : failure(check, found.reason)
}

/** Reads the issuer's description of itself; `undefined` if no issuer is configured, or no console that would use it. */
async function checkIssuer(config: Config): Promise<Check | undefined> {
  const settings = issuerSettings(config)
  const installed = await loadConsole()
  if (settings === undefined || installed === undefined) return undefined
  try {
    await installed.checkIssuer(settings)
    return { ok: true }
  } catch (error) {
    const { message } = error as Error
    return { ok: false, reason: `${settings.issuer}: ${message}; check operations.signIn.issuer` }
  }
}

export type Check = { readonly ok: true } | { readonly ok: false; readonly reason: string }

/** Tries the connection to Redis, its role, its memory and the rights of the user; `undefined` if no Redis is configured. */
export function checkRedis(redis: RedisSettings): Promise<Check | undefined> {
  return withRedis(redis, async (connection) => {
    if (!connection.isReady) {
      const [place] = redisPlaces(redis)
      const wrong = place && (await findWrongProtocol(place))
      return { ok: false, reason: wrong ?? describeStoreFailure(connection.lastError) }
    }
    const reply = await connection.send<string>(DEFAULT_TIMES.bulkTimeout, (client) => client.info())
    if (!reply.ok && !reply.error.startsWith('NOPERM')) return { ok: false, reason: describeStoreFailure(reply.error) }
    const info = reply.ok ? reply.value : ''
    // Before the rights: a write ends the connection to a read-only replica.
    const problem = checkRole(info) ?? checkMemory(info)
    if (problem !== undefined) return problem
    const denied = await findDeniedRights(connection, redis.cluster.length > 0)
    if (denied === undefined) return { ok: true }
    return { ok: false, reason: describeDenied(denied, redis.username ?? 'default') }
  })
}

type RedisSettings = Config['cache']['redis']

/**
 * Runs `use` with a plain connection that was given time to open; `undefined` if no Redis is configured. A store would
 * register as one more replica, and writes of other replicas would wait for it after this command has ended.
 */
export async function withRedis<Result>(
  redis: RedisSettings,
  use: (connection: RedisConnection) => Promise<Result>,
): Promise<Result | undefined> {
  const options = await redisConnectionOptions(redis)
  if (options === undefined) return undefined
  const connection = new RedisConnection(options, { ...DEFAULT_TIMES, commandTimeout: redis.timeout })
  connection.open()
  try {
    await connection.waitUntilReady(DEFAULT_TIMES.bulkTimeout)
    return await use(connection)
  } finally {
    connection.close()
  }
}

/** Returns undefined if Redis accepts writes. */
function checkRole(info: string): Check | undefined {
  const isReadOnly = /^role:slave/m.test(info)
  return isReadOnly ? { ok: false, reason: describeStoreFailure('READONLY according to its role') } : undefined
}

/** Write fences and tag epochs have no TTL. If Redis evicted them, stored responses would be wrong (docs/cache.md). */
function checkMemory(info: string): Check | undefined {
  const fieldOf = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1] ?? ''
  const policy = fieldOf('maxmemory_policy')
  if (policy.startsWith('allkeys-')) {
    return { ok: false, reason: `maxmemory-policy ${policy} evicts write fences and tag epochs; set volatile-lru` }
  }
  const [used, most] = [Number(fieldOf('used_memory')), Number(fieldOf('maxmemory'))]
  const isFull = policy === 'noeviction' && most > 0 && used >= most
  return isFull ? { ok: false, reason: describeStoreFailure(`OOM: ${used} of ${most} bytes`) } : undefined
}

const EXPECTS_TLS = 'the port of Redis expects TLS; write rediss:// in cache.redis.url, and set cache.redis.tls.ca'
const HAS_NO_TLS =
  'the port of Redis does not speak TLS; name the port of tls-port in cache.redis, or set tls-port in redis.conf'

/**
 * Redis closes a plain connection to its port for TLS, and waits for more if a TLS handshake reaches its other port. Neither
 * error names the reason. Returns it if the port answers in the other way.
 */
async function findWrongProtocol({ host, port, isSecure }: ServerAddress): Promise<string | undefined> {
  // The certificate does not matter here: no password is sent.
  const socket = isSecure ? connectPlain({ host, port }) : connectSecure({ host, port, rejectUnauthorized: false })
  try {
    const answers = await new Promise<boolean>((resolve) => {
      socket.once(isSecure ? 'data' : 'secureConnect', () => resolve(true))
      socket.setTimeout(DEFAULT_TIMES.bulkTimeout, () => resolve(false))
      for (const event of ['error', 'close']) socket.once(event, () => resolve(false))
      if (isSecure) socket.write('PING\r\n')
    })
    if (!answers) return undefined
    return isSecure ? HAS_NO_TLS : EXPECTS_TLS
  } finally {
    socket.destroy()
  }
}

function describeDenied({ commands, keys, channels }: DeniedRights, user: string): string {
  const rights = [...commands.map((name) => `+${name}`), ...(keys ? ['~edge:*'] : []), ...(channels ? ['&edge:*'] : [])]
  const parts = [
    ...(commands.length > 0 ? [`the commands ${commands.join(', ')}`] : []),
    ...(keys ? ['keys that begin with "edge:"'] : []),
    ...(channels ? ['channels that begin with "edge:"'] : []),
  ]
  const remedy = `add ${rights.join(' ')} to the line of this user in the ACL file of Redis, and run ACL LOAD`
  return `the ACL of Redis denies the user ${user} ${parts.join(' and ')}; ${remedy} (NOPERM)`
}

/** `manager-edge check`: checks the configuration and all files it names, and optionally the nodes and Redis. */
import { createIssuer } from '../admin/sessions/issuer.ts'
import { buildEdge } from '../app/index.ts'
import { issuerSettings } from '../app/operations.ts'
import type { Config } from '../config/schema.ts'
import { describeStartError } from '../server/exit.ts'
import { processCountOf } from '../server/process-count.ts'
import { checkNodes } from './check-nodes.ts'
import { type Check, checkRedis } from './check-redis.ts'
import { describeFinding, type Finding, failure } from './output.ts'
import { CommandError, loadCommandConfig, print } from './terminal.ts'

/** Reads everything that a start reads, but opens no port. */
export async function check(options: { config?: string; connect?: true }): Promise<void> {
  const config = await loadCommandConfig(options.config)
  await checkStart(config)
  for (const line of summarize(config)) print(line)
  const failures = options.connect ? await checkConnections(config, (finding) => print(describeFinding(finding))) : []
  if (failures.length > 0) throw new CommandError(`${failures.join(', ')}; the lines above have the reasons`)
  print('ok')
}

/** Reads certificates, users and keys as a start does. Does not open the audit, because a running edge may write it. */
export async function checkStart(config: Config): Promise<void> {
  try {
    const edge = await buildEdge({ ...config, log: { ...config.log, level: 'silent' } })
    await edge.drain(0)
  } catch (error) {
    throw new CommandError(describeStartError(error, config))
  }
}

/** Returns the most important settings, without secrets. */
function summarize(config: Config): string[] {
  const { listen, operations, cluster, access } = config
  const processes = processCountOf(config)
  const { credentials } = cluster
  const isService = credentials.mode === 'service'
  return [
    `listen       ${urlOf(listen)}`,
    `operations   ${urlOf(operations)}`,
    ...(processes > 1 ? [`processes    ${processes}`] : []),
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

/** Reads the issuer's description of itself; `undefined` if no issuer is configured. */
async function checkIssuer(config: Config): Promise<Check | undefined> {
  const settings = issuerSettings(config)
  if (settings === undefined) return undefined
  try {
    await createIssuer(settings).start()
    return { ok: true }
  } catch (error) {
    const { message } = error as Error
    return { ok: false, reason: `${settings.issuer}: ${message}; check operations.signIn.issuer` }
  }
}

/**
 * Rules over several settings, which the schema cannot express. A rule is skipped if one of its settings is already
 * faulty, so that one mistake is reported once.
 */
import { builtInRoles } from '../core/access.ts'
import { findSimilar } from '../core/errors.ts'
import { isLoopback, isLoopbackUrl } from './formats.ts'
import type { Config } from './schema.ts'
import { type Path, pathOf } from './tree.ts'

export type ListenerName = 'listen' | 'operations'

export interface RuleContext {
  /** Listeners whose `tls` is `off` on purpose. */
  readonly plainListeners: ReadonlySet<ListenerName>
  /** Returns the environment variable that set a path, if there is one. */
  readonly variableOf: (path: Path) => string | undefined
}

export type Report = (path: Path, message: string) => void
export interface Rule {
  readonly paths: readonly Path[]
  readonly check: (config: Config, report: Report, context: RuleContext) => void
}

export function rule(check: Rule['check'], ...names: readonly string[]): Rule {
  return { paths: names.map(pathOf), check }
}

export const rules: readonly Rule[] = [
  requireTls('listen', 'if a balancer in front terminates TLS'),
  requireTls('operations', 'if only trusted operators use that network'),
  rule(checkTrustedProxies, 'listen.trustedProxies'),
  rule(checkDrain, 'listen.drain'),
  rule(checkPorts, 'listen.port', 'listen.secondPort', 'listen.host', 'operations'),
  rule(checkContracts, 'listen.contract', 'listen.secondPort', 'cluster.layout'),
  rule(checkNodes, 'cluster.nodes'),
  rule(checkNodeTls, 'cluster.nodes', 'cluster.tls'),
  rule(checkClientCertificate, 'cluster.tls'),
  rule(checkDistribution, 'cluster.distribution', 'cluster.layout'),
  rule(checkTimeouts, 'cluster.limits'),
  rule(checkCredentials, 'cluster.credentials'),
  rule(checkUsers, 'access.users', 'access.tokens', 'cluster.credentials'),
  rule(checkRoles, 'access.roles', 'access.customRoles', 'access.passthroughRole', 'operations.signIn'),
  rule(checkTokenLifetime, 'access.tokens'),
  rule(checkAuditDestination, 'audit', 'log'),
]

function requireTls(name: ListenerName, exception: string): Rule {
  const remedy = `set ${name}.tls.cert and ${name}.tls.key, or set ${name}.tls: off ${exception}`
  const check: Rule['check'] = ({ [name]: { tls, host } }, report, { plainListeners }) => {
    if (tls || plainListeners.has(name) || isLoopback(host)) return
    report([name, 'host'], `${host} without TLS would send passwords in clear; ${remedy}`)
  }
  return rule(check, `${name}.host`, `${name}.tls`)
}

function checkTrustedProxies({ listen }: Config, report: Report): void {
  for (const [i, range] of listen.trustedProxies.entries()) {
    if (!range.endsWith('/0')) continue
    const message = `${range} would let every client choose its own address; name the addresses of your balancers`
    report(['listen', 'trustedProxies', i], message)
  }
}

function checkDrain({ listen: { drain } }: Config, report: Report): void {
  if (drain.delay <= drain.limit) return
  report(['listen', 'drain', 'delay'], 'is longer than listen.drain.limit; shorten it, or raise the limit')
}

/** Port 0 is a free one, so several listeners may have it. */
function checkPorts({ listen: { host, port, secondPort }, operations }: Config, report: Report): void {
  if (secondPort !== undefined && secondPort !== 0 && secondPort === port) {
    report(['listen', 'secondPort'], `${port} is also listen.port; choose another one`)
  }
  if (operations.port === 0 || host !== operations.host || ![port, secondPort].includes(operations.port)) return
  report(['operations', 'port'], `${operations.port} is also the port of listen; choose another one`)
}

/** Nodes of the v3 layout lack most of what clients of the v4 contract ask for. */
function checkContracts({ listen: { contract, secondPort }, cluster: { layout } }: Config, report: Report): void {
  const name = contract === 'v4' ? 'contract' : secondPort === undefined ? undefined : 'secondPort'
  if (layout !== 'v3' || name === undefined) return
  report(
    ['listen', name],
    'serves the v4 contract, which nodes of the v3 layout cannot answer; set cluster.layout to v4 or auto, or remove this setting',
  )
}

function checkNodes({ cluster }: Config, report: Report): void {
  const path = ['cluster', 'nodes']
  const masters = cluster.nodes.filter((node) => node.type === 'master')
  if (masters.length === 0) report(path, 'names no master; add { name: …, type: master, url: https://… }')
  if (masters.length > 1) report(path, `names ${masters.length} masters; a cluster has one, the others are workers`)
  for (const key of ['name', 'url'] as const) {
    const seen = new Set<string>()
    for (const [i, node] of cluster.nodes.entries()) {
      const value = node[key].replace(/\/$/, '')
      if (seen.has(value)) report([...path, i, key], `${value} is used twice; each node needs its own`)
      seen.add(value)
    }
  }
}

function checkNodeTls({ cluster }: Config, report: Report): void {
  if (!cluster.tls.required) return
  for (const [i, { url }] of cluster.nodes.entries()) {
    if (!/^http:/i.test(url) || isLoopbackUrl(url)) continue
    const remedy = 'write https://, or set cluster.tls.required: false if the network in between is trusted'
    report(['cluster', 'nodes', i, 'url'], `${url} would send the credentials of the manager in clear; ${remedy}`)
  }
}

function checkClientCertificate({ cluster: { tls } }: Config, report: Report): void {
  if (tls.cert && !tls.key) report(['cluster', 'tls', 'cert'], 'needs cluster.tls.key; set both or none')
  if (tls.key && !tls.cert) report(['cluster', 'tls', 'key'], 'needs cluster.tls.cert; set both or none')
}

/** In the v4 layout a worker answers nothing without the master, so no node answers from its own data. */
function checkDistribution({ cluster: { distribution, layout } }: Config, report: Report): void {
  if (distribution !== 'edge' || layout !== 'v4') return
  report(
    ['cluster', 'distribution'],
    'edge is not possible with cluster.layout: v4, where the master answers for all nodes; set it to manager',
  )
}

function checkTimeouts({ cluster: { limits } }: Config, report: Report): void {
  if (limits.timeout <= limits.slowTimeout) return
  report(['cluster', 'limits', 'slowTimeout'], 'is shorter than cluster.limits.timeout; raise it')
}

function checkCredentials({ cluster: { credentials } }: Config, report: Report): void {
  const path = ['cluster', 'credentials']
  const { mode, username, password, passwordFile } = credentials
  if (mode === 'service' && username === undefined) {
    report(path, 'has no username; set the name of the user that the edge has on the manager')
  }
  if (password !== undefined && passwordFile !== undefined) {
    report([...path, 'password'], 'is set together with passwordFile; keep one of the two')
  } else if (username !== undefined && password === undefined && passwordFile === undefined) {
    report(path, 'has no password; set passwordFile or EDGE_CLUSTER_CREDENTIALS_PASSWORD_FILE')
  }
  if (username?.includes(':')) report([...path, 'username'], 'must not contain a colon; choose another name')
}

function checkUsers({ access, cluster }: Config, report: Report): void {
  if (access.users || cluster.credentials.mode === 'passthrough') return
  const remedy = 'create a file with "manager-edge user add", and name it here'
  report(['access', 'users'], `is missing, so no user could log in; ${remedy}`)
}

function checkRoles({ access, operations }: Config, report: Report): void {
  const builtIn = Object.keys(builtInRoles)
  const known = [...builtIn, ...Object.keys(access.customRoles)]
  const checkRole = (role: string, path: Path): void => {
    if (known.includes(role)) return
    const similar = findSimilar(role, known)
    const remedy = similar ? `did you mean "${similar}"?` : `available: ${known.join(', ')}`
    report(path, `there is no role "${role}"; ${remedy}`)
  }
  for (const role of Object.keys(access.customRoles)) {
    if (builtIn.includes(role)) report(['access', 'customRoles', role], 'is built in; choose another name')
  }
  const checkTable = (table: Readonly<Record<string, readonly string[]>>, path: Path): void => {
    for (const [name, roles] of Object.entries(table)) {
      for (const [i, role] of roles.entries()) checkRole(role, [...path, name, i])
    }
  }
  checkTable(access.roles, ['access', 'roles'])
  for (const [i, { roles }] of access.tokens.issuers.entries()) {
    checkTable(roles ?? {}, ['access', 'tokens', 'issuers', i, 'roles'])
  }
  checkTable(operations.signIn.roles ?? {}, ['operations', 'signIn', 'roles'])
  checkRole(access.passthroughRole, ['access', 'passthroughRole'])
}

/** Without a file, audit records go to the log, which writes them at every level except `silent`. */
function checkAuditDestination({ audit, log }: Config, report: Report): void {
  if (log.level !== 'silent' || audit.file !== undefined || audit.onFailure === 'log') return
  report(
    ['log', 'level'],
    'silent discards the audit, and audit.onFailure: refuse would refuse every write; set audit.file, or choose another level',
  )
}

const SECOND_MS = 1000

/** The lifetime bounds the damage of a stolen token. Tokens count whole seconds. */
function checkTokenLifetime({ access: { tokens } }: Config, report: Report): void {
  if (tokens.lifetime <= 900 * SECOND_MS && tokens.lifetime % SECOND_MS === 0) return
  report(['access', 'tokens', 'lifetime'], 'must be whole seconds, 1s to 900s')
}

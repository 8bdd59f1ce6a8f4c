/**
 * What the schema cannot say: rules over several settings at once. Each one speaks only of settings that
 * are sound by themselves, so one mistake is told once.
 */

import { builtInRoles } from '../core/permissions.ts'
import { nearest } from './faults.ts'
import { isLoopback, isLoopbackUrl } from './formats.ts'
import type { Settings } from './index.ts'
import type { Path } from './tree.ts'

export type Listening = 'listen' | 'operations'

/** `plain`: listeners whose `tls` is `off`, on purpose. `variableOf`: the environment variable that set a path, if one did. */
export interface Context {
  readonly plain: ReadonlySet<Listening>
  readonly variableOf: (path: Path) => string | undefined
}

export type Report = (path: Path, says: string) => void
/** `about`: the settings that the rule reads; it is left out where one of them is faulty already. */
export interface Rule {
  readonly about: readonly Path[]
  readonly check: (settings: Settings, report: Report, context: Context) => void
}

export const rules: readonly Rule[] = [
  inTheOpen('listen', 'a balancer in front speaks TLS'),
  inTheOpen('operations', 'the network of those who run the edge is theirs alone'),
  { about: [['listen', 'trustedProxies']], check: trustedProxies },
  { about: [['listen', 'drain']], check: drain },
  { about: [['listen', 'port'], ['listen', 'host'], ['operations']], check: twoPorts },
  { about: [['cluster', 'nodes']], check: nodes },
  {
    about: [
      ['cluster', 'nodes'],
      ['cluster', 'tls'],
    ],
    check: plainNodes,
  },
  { about: [['cluster', 'tls']], check: clientCertificate },
  { about: [['cluster', 'limits']], check: deadlines },
  { about: [['cluster', 'credentials']], check: credentials },
  {
    about: [
      ['access', 'users'],
      ['access', 'tokens'],
      ['cluster', 'credentials'],
    ],
    check: somebodyMayCome,
  },
  {
    about: [
      ['access', 'roles'],
      ['access', 'ownRoles'],
      ['access', 'passthroughRole'],
    ],
    check: knownRoles,
  },
  { about: [['access', 'tokens']], check: tokenLifetime },
  { about: [['traces']], check: collectorKey },
  { about: [['audit'], ['log']], check: auditDestination },
]

function inTheOpen(name: Listening, where: string): Rule {
  const remedy = `set ${name}.tls.cert and ${name}.tls.key, or say ${name}.tls: off where ${where}`
  return {
    about: [
      [name, 'host'],
      [name, 'tls'],
    ],
    check: ({ [name]: { tls, host } }, report, { plain }) => {
      if (tls || plain.has(name) || isLoopback(host)) return
      report([name, 'host'], `${host} without TLS would send passwords in clear; ${remedy}`)
    },
  }
}

function trustedProxies({ listen }: Settings, report: Report): void {
  for (const [i, range] of listen.trustedProxies.entries()) {
    if (!range.endsWith('/0')) continue
    const says = `${range} would let every client choose its own address; name the addresses of your balancers`
    report(['listen', 'trustedProxies', i], says)
  }
}

function drain({ listen: { drain } }: Settings, report: Report): void {
  if (drain.notice <= drain.limit) return
  report(['listen', 'drain', 'notice'], 'is longer than listen.drain.limit; shorten it, or raise the limit')
}

function twoPorts({ listen, operations }: Settings, report: Report): void {
  if (listen.port === 0 || listen.port !== operations.port || listen.host !== operations.host) return
  report(['operations', 'port'], `${operations.port} is the port of listen too; choose another one`)
}

function nodes({ cluster }: Settings, report: Report): void {
  const path = ['cluster', 'nodes']
  const masters = cluster.nodes.filter((node) => node.type === 'master')
  if (masters.length === 0) report(path, 'names no master; add { name: …, type: master, url: https://… }')
  if (masters.length > 1) report(path, `names ${masters.length} masters; a cluster has one, the others are workers`)
  for (const key of ['name', 'url'] as const) {
    const seen = new Set<string>()
    for (const [i, node] of cluster.nodes.entries()) {
      const value = node[key].replace(/\/$/, '')
      if (seen.has(value)) report([...path, i, key], `${value} stands twice; every node has its own`)
      seen.add(value)
    }
  }
}

function plainNodes({ cluster }: Settings, report: Report): void {
  if (!cluster.tls.required) return
  for (const [i, { url }] of cluster.nodes.entries()) {
    if (!/^http:/i.test(url) || isLoopbackUrl(url)) continue
    const remedy = 'write https://, or say cluster.tls.required: false where the network between is yours alone'
    report(['cluster', 'nodes', i, 'url'], `${url} would send the credentials of the manager in clear; ${remedy}`)
  }
}

function clientCertificate({ cluster: { tls } }: Settings, report: Report): void {
  if (tls.cert && !tls.key) report(['cluster', 'tls', 'cert'], 'needs cluster.tls.key; write both or none')
  if (tls.key && !tls.cert) report(['cluster', 'tls', 'key'], 'needs cluster.tls.cert; write both or none')
}

function deadlines({ cluster: { limits } }: Settings, report: Report): void {
  if (limits.timeout <= limits.slowTimeout) return
  report(['cluster', 'limits', 'slowTimeout'], 'is shorter than cluster.limits.timeout; raise it')
}

function credentials({ cluster: { credentials } }: Settings, report: Report): void {
  const path = ['cluster', 'credentials']
  const { mode, username, password, passwordFile } = credentials
  if (mode === 'service' && username === undefined) {
    report(path, 'names no username; write that of the user which the edge has on the manager')
  }
  if (password !== undefined && passwordFile !== undefined) {
    report([...path, 'password'], 'stands beside passwordFile; keep one of the two')
  } else if (username !== undefined && password === undefined && passwordFile === undefined) {
    report(path, 'holds no password; write passwordFile, or set EDGE_CLUSTER_CREDENTIALS_PASSWORD_FILE')
  }
  if (username?.includes(':')) report([...path, 'username'], 'must not hold a colon; choose another name')
}

function somebodyMayCome({ access, cluster }: Settings, report: Report): void {
  if (access.users || cluster.credentials.mode === 'passthrough') return
  const remedy = 'make a file with "manager-edge user add", and name it here'
  report(['access', 'users'], `is missing, so nobody could sign in; ${remedy}`)
}

function knownRoles({ access }: Settings, report: Report): void {
  const ready = Object.keys(builtInRoles)
  const known = [...ready, ...Object.keys(access.ownRoles)]
  const check = (role: string, path: Path): void => {
    if (known.includes(role)) return
    const meant = nearest(role, known)
    report(path, `there is no role "${role}"; ${meant ? `did you mean "${meant}"?` : `there are ${known.join(', ')}`}`)
  }
  for (const role of Object.keys(access.ownRoles)) {
    if (ready.includes(role)) report(['access', 'ownRoles', role], 'is built in; choose another name')
  }
  const checkTable = (table: Readonly<Record<string, readonly string[]>>, path: Path): void => {
    for (const [name, roles] of Object.entries(table)) {
      for (const [i, role] of roles.entries()) check(role, [...path, name, i])
    }
  }
  checkTable(access.roles, ['access', 'roles'])
  for (const [i, { roles }] of access.tokens.issuers.entries()) {
    checkTable(roles ?? {}, ['access', 'tokens', 'issuers', i, 'roles'])
  }
  check(access.passthroughRole, ['access', 'passthroughRole'])
}

function collectorKey({ traces: { endpoint, headersFile } }: Settings, report: Report): void {
  if (headersFile === undefined) return
  if (endpoint === undefined) report(['traces', 'headersFile'], 'stands without traces.endpoint; write both or none')
  else if (/^http:/i.test(endpoint) && !isLoopbackUrl(endpoint)) {
    report(['traces', 'endpoint'], `${endpoint} would send traces.headersFile in clear; write https://`)
  }
}

/** Without a file the audit goes to the log, which writes it at every level but `silent`. */
function auditDestination({ audit, log }: Settings, report: Report): void {
  if (log.level !== 'silent' || audit.file !== undefined || audit.onFailure === 'log') return
  report(
    ['log', 'level'],
    'silent discards the audit, and audit.onFailure: refuse would refuse every write; set audit.file, or choose another level',
  )
}

const SECOND = 1000
const DAY = 86_400_000

/** A stolen token of ours is worth little; tokens count in whole seconds. */
function tokenLifetime({ access: { tokens } }: Settings, report: Report): void {
  const path = ['access', 'tokens']
  if (tokens.lifetime > 900 * SECOND || tokens.lifetime % SECOND !== 0) {
    report([...path, 'lifetime'], 'must be whole seconds, 1s to 900s')
  }
  for (const [i, { lifetime }] of tokens.issuers.entries()) {
    if (lifetime < SECOND || lifetime > DAY) report([...path, 'issuers', i, 'lifetime'], 'must be from 1s to 24h')
  }
}

/** Connects the view of plugins with the parts of the edge, and runs what operators do through it: purges and drains. */

import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { extname } from 'node:path'
import type { Access } from '../access/access.ts'
import { noConsolePlugin } from '../admin/listener.ts'
import type { Audit } from '../audit/index.ts'
import { CACHE_OFF, explain, readEntry } from '../cache/explain.ts'
import type { CacheOperationsPorts } from '../cache/operations.ts'
import { listPurged, type PurgePorts, purgeCostOf, purgeScopeOf } from '../cache/purge.ts'
import { durationFormat } from '../config/formats.ts'
import { type Config, cacheGroups } from '../config/schema.ts'
import type { EdgeOperation, WriteEndpoint } from '../contracts/endpoint.ts'
import { bothContracts, catalogue } from '../contracts/index.ts'
import type { IndexEntry } from '../core/cache.ts'
import { nameOf } from '../core/endpoint-names.ts'
import { errorNumberOf } from '../core/envelope.ts'
import { EdgeError, suggestionHeaders } from '../core/errors.ts'
import { type EdgeWrite, type Handler, NO_BODY } from '../core/request.ts'
import { toEdgeRequest } from '../http/edge-request.ts'
import { NO_FLAGS } from '../http/parameters.ts'
import type { CacheView, EdgeView, IssuerSettings, NodeDrains, PurgeCaller } from '../status/edge-view.ts'
import type { DrainResult } from '../status/node-types.ts'
import type { ClientPort, PurgeRequest, PurgeResult } from '../status/view-types.ts'
import type { Cluster } from '../upstream/index.ts'
import type { Base } from './base.ts'
import type { EdgePlugin } from './plugins.ts'
import { builtFolder, version } from './process.ts'
import type { Status } from './status.ts'

interface ViewParts {
  readonly cluster: Pick<Cluster, 'drains'>
  readonly cache: PurgePorts & CacheOperationsPorts
  readonly access: Pick<Access, 'rolesOf'>
  readonly handler: Handler
  readonly status: Pick<Status, 'sources' | 'problems' | 'counts'>
  readonly signIn: Pick<EdgeView['access'], 'usePages' | 'sessions'>
  /** The ports for clients, as soon as the edge listens. */
  readonly clientPorts: () => readonly ClientPort[]
}

export function buildEdgeView(
  { name, events, audit, replicas }: Pick<Base, 'name' | 'events' | 'audit' | 'replicas'>,
  { cluster, cache, access, handler, status, signIn, clientPorts }: ViewParts,
): EdgeView {
  const { sources } = status
  const { explained } = cache
  const permissions = new Map<string, string>(
    bothContracts.filter(({ method }) => method === 'GET').map((record) => [nameOf(record), record.permission]),
  )
  return {
    name,
    version,
    clientPorts,
    ready: sources.ready,
    problems: status.problems,
    cluster: sources,
    cache: {
      state: sources.cache,
      capacity: sources.capacity,
      index: cache.index,
      snapshots: () => cache.snapshots?.() ?? [],
      purge: createPurge(handler, cache),
      explain: async (url, caller) => (explained === undefined ? CACHE_OFF : explain(explained, url, caller)),
      read: (entry, caller) => readEntry(explained, entry, caller),
    },
    drains: createNodeDrains(audit, cluster, events.emit),
    events: { on: events.on, requests: events.requests, totals: status.counts, recordStages: events.recordStages },
    report: (part) => replicas?.add(part),
    access: { permissionOf: (endpoint) => permissions.get(endpoint) ?? 'unknown', rolesOf: access.rolesOf, ...signIn },
  }
}

/** Purges of the console are requests to the same endpoints that clients use, through the same pipeline. */
export function createPurge(handler: Handler, cache: PurgePorts): CacheView['purge'] {
  const all = findOperation('cacheClear')
  const group = findOperation('cacheClearGroup')
  return async (purge, { caller, client, requestId }) => {
    checkGroup(purge.group)
    const endpoint = purge.group === undefined ? all : group
    const params = purge.group === undefined ? {} : { group: purge.group }
    const url = { endpoint, params, query: purgeQuery(purge), flags: NO_FLAGS }
    const headers = { prefer: 'return=minimal' }
    const request = toEdgeRequest(url, { caller, headers, id: requestId, clientAddress: client, body: NO_BODY })
    // What is purged is known only before it is purged.
    const rows = await listPurged(cache, purgeScopeOf(request), caller)
    const found = { ...(await purgeCostOf(rows, cache.lifetimesOf)), ...countKeys(purge, rows) }
    if (purge.preview) return { ...found, pending: false }
    const response = await handler(request)
    if (errorNumberOf(response) !== 0) throw new EdgeError(949)
    return { ...found, pending: response.status === STATUS_ACCEPTED }
  }
}

/** A misspelled group would purge nothing, and report success. */
function checkGroup(group: string | undefined): void {
  const known: readonly string[] = cacheGroups
  if (group === undefined || known.includes(group)) return
  const headers = suggestionHeaders(group, known)
  throw new EdgeError(604, `. There is no cache group ${group}; there are ${known.join(', ')}`, { headers })
}

/** Of a purge that was not sent, because Redis is unreachable. */
const STATUS_ACCEPTED = 202

/** The entries of keys that the purge does not name are snapshots. */
function countKeys(
  { keys = [], previewAge = 0 }: PurgeRequest,
  rows: readonly IndexEntry[],
): Pick<PurgeResult, 'missing' | 'newer'> {
  const named = new Set(keys)
  const found = rows.filter(({ key }) => named.has(key))
  return { missing: named.size - found.length, newer: found.filter(({ age }) => age < previewAge).length }
}

function purgeQuery({ keys, endpoint, tag, soft }: PurgeRequest): EdgeWrite['query'] {
  return {
    ...(keys !== undefined && { key: keys.join(',') }),
    ...(endpoint !== undefined && { endpoint }),
    ...(tag !== undefined && { tag }),
    ...(soft && { soft: 'true' }),
  }
}

function findOperation(operation: EdgeOperation): WriteEndpoint {
  const found = catalogue.find(({ target }) => target.kind === 'edge' && target.operation === operation)
  if (found === undefined || found.method === 'GET') throw new Error(`the catalogue has no write ${operation}`)
  return found
}

const ROUTE = '/api/nodes/:node/drain'

const MIN_DURATION_MS = 1000

/** Drains of nodes. Their audit records have the route of the operations listener. */
function createNodeDrains(
  audit: Pick<Audit, 'record'>,
  { drains }: Pick<Cluster, 'drains'>,
  emit: Pick<Base['emit'], 'operation'>,
): NodeDrains {
  const { areShared } = drains
  const appliesTo = areShared ? 'allReplicas' : 'thisReplica'
  drains.onEnd(({ node, by, reason }) => {
    const query = { end: 'reached', ...(reason && { reason }) }
    const ofEdge = { request: randomUUID(), caller: by, client: '', method: 'DELETE', route: ROUTE } as const
    // The node has returned already: a record that cannot be written is counted and logged.
    audit.record({ ...ofEdge, params: { node }, query }, async () => undefined).catch(() => undefined)
    emit.operation({ kind: 'return', text: node })
  })
  const describe = (method: 'PUT' | 'DELETE', node: string, { caller, client, requestId }: PurgeCaller) =>
    ({ request: requestId, caller: caller.name, client, method, route: ROUTE, params: { node } }) as const
  return {
    areShared,
    drain: async (node, { confirm, for: text, reason }, by): Promise<DrainResult> => {
      const duration = text === undefined ? undefined : parseDrainDuration(text)
      const query = { ...(confirm && { confirm }), ...(text && { for: text }), ...(reason && { reason }) }
      const described = { ...describe('PUT', node, by), ...(Object.keys(query).length > 0 && { query }) }
      const request = { node, by: by.caller.name, confirmsMaster: confirm === 'master', reason, duration }
      const drain = await audit.record(described, () => drains.drain(request))
      emit.operation({ kind: 'drain', text: [node, drain?.reason].filter(Boolean).join(': ') })
      const { reason: given, until } = drain ?? {}
      const end = until && { until: new Date(until).toISOString() }
      return { node, drained: true, appliesTo, ...(given && { reason: given }), ...end }
    },
    putBack: async (node, by): Promise<DrainResult> => {
      await audit.record(describe('DELETE', node, by), () => drains.putBack(node))
      emit.operation({ kind: 'return', text: node })
      return { node, drained: false, appliesTo }
    },
  }
}

function parseDrainDuration(text: string): number {
  const { validate, parse, description } = durationFormat
  const duration = validate(text) ? Number(parse?.(text, '')) : 0
  if (duration >= MIN_DURATION_MS) return duration
  throw new EdgeError(604, `. for must be ${description}, at least 1s and at most 24 days`)
}

/** What the console, a package of this repository, exports. An installation may leave it out. */
interface ConsoleModule {
  readonly consolePlugin: EdgePlugin['plugin']
  /** Rejects with the reason if the issuer of sign-ins cannot be used. */
  checkIssuer(settings: IssuerSettings): Promise<unknown>
}

const SOURCE = /\/src\/app\/[^/]+$/

/** Beside the built program, or the sources while the sources run (tests). */
const CONSOLE = new URL(
  SOURCE.test(import.meta.url)
    ? `../../packages/console/server/index${extname(import.meta.url)}`
    : '../console-server/index.js',
  import.meta.url,
)

/** Resolves to `undefined` if no console is installed. It is no static import: the edge starts without it. */
export async function loadConsole(): Promise<ConsoleModule | undefined> {
  return existsSync(CONSOLE) ? import(CONSOLE.href) : undefined
}

/** Returns a sentence on what an installation without the console lacks; nothing if it has one, or lacks nothing. */
export function describeMissingConsole({ operations }: Config, hasReplicas: boolean): readonly string[] {
  if (existsSync(CONSOLE)) return []
  const lacks = [
    ...(operations.signIn.issuer === undefined ? [] : ['operations.signIn has no effect']),
    ...(hasReplicas ? ['the other replicas see rates of 0 for this one'] : []),
  ]
  return lacks.length === 0 ? [] : [`no console is installed: ${lacks.join(', and ')}`]
}

/** Returns the console, or what answers without it. */
export async function consolePlugin(): Promise<EdgePlugin> {
  const installed = await loadConsole()
  if (installed === undefined) return { name: 'no console', plugin: noConsolePlugin }
  return { name: 'console', plugin: installed.consolePlugin, options: { folder: builtFolder('console') } }
}

/**
 * The composition root: builds all parts of the edge from the configuration and connects them. The parts decide about
 * requests; this folder does not. This file has the order of the parts.
 */
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { LoadResult } from '../config/index.ts'
import { createReloadableConfig, type ReloadableConfig } from '../config/reloadable.ts'
import type { Config } from '../config/schema.ts'
import { weaknessOf } from '../config/weak-passwords.ts'
import { createKinds } from '../upstream/kinds.ts'
import { buildAccess } from './access.ts'
import { buildApi } from './api.ts'
import { buildBase } from './base.ts'
import { buildCache } from './cache.ts'
import { connectCluster } from './cluster.ts'
import { buildContracts } from './contracts.ts'
import { Edge, type Lifecycle } from './edge.ts'
import { buildEdgeView } from './edge-view.ts'
import { buildFronts } from './fronts.ts'
import { createLog, type LogDestination } from './log.ts'
import { buildMetrics, buildOperations, buildSignIn } from './operations.ts'
import { describeMissingConsole } from './packages.ts'
import { loadPlugins, registerPlugins } from './plugins.ts'
import { builtFolder } from './process.ts'
import { readDescriptions } from './reference.ts'
import { Reloader } from './reload.ts'
import { buildStatus } from './status.ts'
import type { EdgeTimes } from './times.ts'

export interface EdgeOptions {
  /** The destination of log lines, which may buffer them. Absent: standard output. */
  readonly logTo?: LogDestination
  /** Loads the configuration again, for reloads. Absent: only certificates are reloaded. */
  readonly load?: () => Promise<LoadResult>
  /** The files that the configuration was read from. */
  readonly files?: readonly string[]
  /** Settings that are probably a mistake; logged as warnings. */
  readonly warnings?: readonly string[]
  readonly times?: EdgeTimes
}

/**
 * Reads every file that the configuration names, and opens nothing: no connection, no port, no file for writing. So commands can
 * build an edge to check its configuration. Rejects with an `Error` for the operator if a file is invalid.
 */
export async function buildEdge(initial: Config, options: EdgeOptions = {}): Promise<Edge> {
  const { times = {}, warnings = [] } = options
  const settings = createReloadableConfig(initial)
  const output = createLog(settings, options.logTo)
  const { log } = output
  for (const warning of warnings) log.warn({ warning }, 'questionable setting')
  watchCredentials(settings, log)
  const lifecycle: Lifecycle = { isDraining: false, clientPorts: [] }
  const reloader = new Reloader({ ...options, config: settings, log })
  const base = await buildBase(settings, output, times)
  const cluster = await connectCluster(base, times.cluster)
  const kindOf = createKinds(initial.cluster.distribution)
  const { served, resolveUrl, findV4Read } = buildContracts(settings, cluster)
  const cache = await buildCache(base, { cluster, kindOf, resolveUrl })
  const access = await buildAccess(base, cluster, cache.acceptedTokens)
  const descriptions = readDescriptions(settings.initial.listen, builtFolder('reference'))
  const handler = buildApi(base, { access, cluster, cache, kindOf, findV4Read, descriptions })
  const isDraining = () => lifecycle.isDraining
  const status = await buildStatus(base, { cluster, access, cache, reloader, isDraining }, times)
  const signIn = buildSignIn(base, access)
  const view = buildEdgeView(base, {
    cluster,
    cache: cache.ports,
    access,
    handler,
    status,
    signIn: signIn.view,
    clientPorts: () => lifecycle.clientPorts,
  })
  const metrics = buildMetrics(base, { cluster, cache, status, reloader })
  const operations = await buildOperations(base, { view, signIn, metrics, descriptions })
  const added = await loadPlugins(initial.plugins, 'clients')
  const hooking = new Set<string>()
  const addPlugins = async (scope: FastifyInstance) => {
    for (const name of await registerPlugins(scope, added, view)) hooking.add(name)
    return hooking.size > 0
  }
  const fronts = await buildFronts(base, { access, cluster, kindOf, served, handler, cache, addPlugins })
  const missing = describeMissingConsole(initial, base.shared !== undefined)
  for (const warning of missing) log.warn({ warning }, 'questionable setting')
  const plugins = [
    ...missing,
    ...operations.plugins.map(({ name }) => `${name} (operations)`),
    ...added.map(({ name }) => `${name} (clients${hooking.has(name) ? '; its hooks switch prepared hits off' : ''})`),
  ]
  const parts = { cluster, cache, access, status, metrics, operations, fronts }
  return new Edge({ base, output, reloader, lifecycle, plugins, ...parts })
}

/** Warns of a weak password now and after each reload. */
function watchCredentials({ initial, onReload }: ReloadableConfig, log: Logger): void {
  const warn = ({ cluster }: Config): void => {
    const warning = weaknessOf(cluster.credentials)
    if (warning !== undefined)
      log.warn({ setting: 'cluster.credentials', warning }, 'weak password of the account on the nodes')
  }
  warn(initial)
  onReload((next) => () => warn(next))
}

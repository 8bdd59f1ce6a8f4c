/**
 * What the edge reloads at run time: nodes (`cluster.nodes`), the certificates that `cluster.tls` names, and roles
 * (`access.roles`). Within a second of a change, new calls go to the new nodes with the new certificates, and new
 * requests have the new roles. Calls in flight end on the node where they began. If a file is invalid, the last valid
 * values stay in use and the log has an error.
 */
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import type { Access } from '../access/access.ts'
import { fingerprintFile, watchFiles } from '../access/file-watcher.ts'
import type { RoleAssignment } from '../access/roles.ts'
import type { Deprecation } from '../config/deprecated.ts'
import { loadConfig } from '../config/index.ts'
import type { Config } from '../config/schema.ts'
import type { Log } from '../core/events.ts'
import type { Cluster, NodeSetting, NodeTls } from '../upstream/index.ts'
import { readTls } from './cluster.ts'

export interface ReloadOptions {
  readonly cluster: Cluster
  readonly access: Pick<Access, 'assignRoles'>
  readonly config: Config
  /** The configuration file. Absent: the environment is the only source, and only certificates are reloaded. */
  readonly file?: string | undefined
  readonly log: Logger
  readonly warnOfDeprecations: DeprecationLog
}

export interface Reloading {
  close(): void
}

/** Starts to watch the files. Rejects if one of them cannot be used, and watches nothing then. */
export async function startReloading({ access, file, ...options }: ReloadOptions): Promise<Reloading> {
  const cluster = await watchCluster({ ...options, file })
  if (file === undefined) return cluster
  try {
    const roles = await watchRoles({
      file,
      load: async () => (await loadConfigFile(file, options.warnOfDeprecations)).access.roles,
      access,
      log: (level, message, facts) => options.log[level](facts ?? {}, message),
    })
    return {
      close: () => {
        cluster.close()
        roles.close()
      },
    }
  } catch (error) {
    cluster.close()
    throw error
  }
}

interface ClusterFiles {
  readonly nodes: readonly NodeSetting[]
  readonly tls: NodeTls
}

async function watchCluster({
  cluster,
  config,
  file,
  log,
  warnOfDeprecations,
}: Omit<ReloadOptions, 'access'>): Promise<Reloading> {
  const { ca, cert, key } = config.cluster.tls
  const firstFile = file ?? ca ?? cert ?? key
  if (firstFile === undefined) return { close: () => undefined }
  let tlsFiles = config.cluster.tls
  const watched = await watchFiles<ClusterFiles>({
    folder: dirname(firstFile),
    fingerprint: async () => {
      const files = [file, tlsFiles.ca, tlsFiles.cert, tlsFiles.key].filter((name) => name !== undefined)
      return (await Promise.all(files.map(fingerprintFile))).join(' ')
    },
    load: async () => {
      const now = file === undefined ? config : await loadConfigFile(file, warnOfDeprecations)
      tlsFiles = now.cluster.tls
      return { nodes: now.cluster.nodes, tls: await readTls(now) }
    },
    onReload: (now, before) => applyCluster(cluster, now, before, log),
    onError: (error) =>
      log.error(
        { file: firstFile, fault: messageOf(error) },
        'nodes and certificates cannot be reloaded, the last valid ones stay in use',
      ),
  })
  // The files may have changed since the process read its configuration.
  const { nodes, tls } = watched.current()
  if (!isDeepStrictEqual(nodes, config.cluster.nodes)) cluster.setNodes(nodes)
  if (ca !== undefined || cert !== undefined || key !== undefined) cluster.setTls(tls)
  return watched
}

/** Throws if the nodes do not make a cluster or a certificate is invalid. The cluster is unchanged then. */
function applyCluster(cluster: Cluster, now: ClusterFiles, before: ClusterFiles, log: Logger): void {
  if (!isDeepStrictEqual(now.tls, before.tls)) {
    cluster.setTls(now.tls)
    log.info({}, 'node certificates reloaded')
  }
  if (!isDeepStrictEqual(now.nodes, before.nodes)) {
    cluster.setNodes(now.nodes)
    log.info({ nodes: now.nodes.map(({ name }) => name) }, 'nodes reloaded')
  }
}

interface RoleFile {
  readonly file: string
  /** Reads the roles. Throws an error that lists what is wrong with the configuration. */
  load(): Promise<RoleAssignment>
  readonly access: Pick<Access, 'assignRoles'>
  readonly log: Log
}

export async function watchRoles({ file, load, access, log }: RoleFile): Promise<Reloading> {
  const watched = await watchFiles({
    folder: dirname(file),
    fingerprint: () => fingerprintFile(file),
    load,
    onReload: (roles) => {
      access.assignRoles(roles)
      log('info', 'roles reloaded', { file, users: Object.keys(roles).length })
    },
    onError: (error) =>
      log('error', 'roles cannot be reloaded, the last valid roles stay in use', { file, fault: messageOf(error) }),
  })
  // The file may have changed since the process read its configuration.
  access.assignRoles(watched.current())
  return watched
}

/** Logs deprecated settings; called with all of them at the start and after each reload. */
export type DeprecationLog = (deprecations: readonly Deprecation[]) => void

/** Several watchers read the same file. A setting is logged again only if it was absent in between. */
export function createDeprecationLog(log: Logger): DeprecationLog {
  let known: readonly string[] = []
  return (deprecations) => {
    for (const { name, message } of deprecations) {
      if (!known.includes(name)) log.warn({ warning: message }, 'deprecated setting')
    }
    known = deprecations.map(({ name }) => name)
  }
}

/** Rejects with all faults of the configuration. */
async function loadConfigFile(file: string, warnOfDeprecations: DeprecationLog): Promise<Config> {
  const loaded = await loadConfig({ file })
  if (!loaded.ok) throw new Error(loaded.faults.join('; '))
  warnOfDeprecations(loaded.deprecations)
  return loaded.config
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

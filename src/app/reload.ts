import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import type { Access } from '../access/access.ts'
import { fingerprintFile, watchFiles } from '../access/file-watcher.ts'
import type { RoleAssignment } from '../access/roles.ts'
import { type Config, loadConfig } from '../config/index.ts'
import type { Log } from '../core/events.ts'
import type { Cluster, NodeSetting, NodeTls } from '../upstream/index.ts'
import { readTls } from './cluster.ts'

/** What of the settings is followed while the edge runs: nodes and their certificates, and roles. */

export interface FollowSettings extends FollowCluster {
  readonly access: Pick<Access, 'assignRoles'>
}

/** Rejects when what it reads first cannot be used, and follows nothing then. */
export async function followSettings({ access, ...parts }: FollowSettings): Promise<{ close(): void }> {
  const { file, log } = parts
  const cluster = await followCluster(parts)
  if (file === undefined) return cluster
  try {
    const roles = await followRoles({
      file,
      load: async () => (await settingsIn(file)).access.roles,
      assign: (roles) => access.assignRoles(roles),
      log: (level, message, facts) => log[level](facts ?? {}, message),
    })
    return {
      close: () => {
        cluster.close()
        roles.close()
      },
    }
  } catch (fault) {
    cluster.close()
    throw fault
  }
}

/**
 * Nodes and certificates that follow their files: `cluster.nodes` in the file of settings, and the files that
 * `cluster.tls` names. Within a second of a change new calls go to the new nodes, under the new certificates; calls
 * under way end where they began. What is broken keeps the last that was good, and is told to the log.
 */

interface Followed {
  readonly nodes: readonly NodeSetting[]
  readonly tls: NodeTls
}

export interface FollowCluster {
  readonly cluster: Cluster
  readonly config: Config
  /** Absent: the settings came from the environment, and only the files of certificates are followed. */
  readonly file?: string | undefined
  readonly log: Logger
}

export async function followCluster({ cluster, config, file, log }: FollowCluster): Promise<{ close(): void }> {
  const { ca, cert, key } = config.cluster.tls
  const named = file ?? ca ?? cert ?? key
  if (named === undefined) return { close: () => undefined }
  let tls = config.cluster.tls
  const source = await watchFiles<Followed>({
    folder: dirname(named),
    fingerprint: async () => {
      const files = [file, tls.ca, tls.cert, tls.key].filter((name) => name !== undefined)
      return (await Promise.all(files.map(fingerprintFile))).join(' ')
    },
    load: async () => {
      const now = file === undefined ? config : await settingsIn(file)
      tls = now.cluster.tls
      return { nodes: now.cluster.nodes, tls: await readTls(now) }
    },
    onReload: (now, before) => take(cluster, now, before, log),
    onError: (error) => {
      const fault = error instanceof Error ? error.message : String(error)
      log.error({ file: named, fault }, 'nodes and certificates stay as they were')
    },
  })
  // They may have changed since the process read its settings.
  const { nodes, tls: first } = source.current()
  if (!isDeepStrictEqual(nodes, config.cluster.nodes)) cluster.setNodes(nodes)
  if (ca !== undefined || cert !== undefined || key !== undefined) cluster.setTls(first)
  return source
}

/** Throws where the nodes do not make a cluster, or a certificate is none; then what was stays. */
function take(cluster: Cluster, now: Followed, before: Followed, log: Logger): void {
  if (!isDeepStrictEqual(now.tls, before.tls)) {
    cluster.setTls(now.tls)
    log.info({}, 'certificates of the nodes read again')
  }
  if (!isDeepStrictEqual(now.nodes, before.nodes)) {
    cluster.setNodes(now.nodes)
    log.info({ nodes: now.nodes.map(({ name }) => name) }, 'nodes read again')
  }
}

/** Rejects with all that is wrong with them. */
export async function settingsIn(file: string): Promise<Config> {
  const loaded = await loadConfig({ file })
  if (!loaded.ok) throw new Error(loaded.faults.join('; '))
  return loaded.config
}

/** Roles that follow the file of settings: who loses one in the file loses it at the next request, without a restart. */

export interface FollowedRoles {
  readonly file: string
  /** Reads `access.roles` anew; throws what is wrong with the settings, in words. */
  load(): Promise<RoleAssignment>
  /** `Access.assignRoles`. Throws for a role that does not exist. */
  assign(roles: RoleAssignment): void
  readonly log: Log
}

/** Within a second of a change the new roles hold; a file that is broken keeps the last good ones and is told to the log. */
export async function followRoles({ file, load, assign, log }: FollowedRoles): Promise<{ close(): void }> {
  const source = await watchFiles({
    folder: dirname(file),
    fingerprint: () => fingerprintFile(file),
    load,
    onReload: (now) => {
      assign(now)
      log('info', 'roles read again', { file, users: Object.keys(now).length })
    },
    onError: (error) =>
      log('error', 'settings are broken, the last good roles stay', {
        file,
        fault: error instanceof Error ? error.message : String(error),
      }),
  })
  // It may have changed since the process read its settings.
  assign(source.current())
  return { close: () => source.close() }
}

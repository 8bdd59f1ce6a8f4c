/** What of the settings is followed while the edge runs: nodes and their certificates, and roles. */
import type { Access } from '../access/access.ts'
import { followRoles } from '../access/follow-roles.ts'
import { type FollowCluster, followCluster, settingsIn } from './follow-cluster.ts'

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

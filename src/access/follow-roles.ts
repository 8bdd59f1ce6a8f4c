/** Roles that follow the file of settings: who loses one in the file loses it at the next request, without a restart. */
import { dirname } from 'node:path'
import type { Log } from '../core/log.ts'
import type { Assignment } from './roles.ts'
import { fileFingerprint, watched } from './watched.ts'

export interface FollowedRoles {
  readonly file: string
  /** Reads `access.roles` anew; throws what is wrong with the settings, in words. */
  load(): Promise<Assignment>
  /** `Access.assignRoles`. Throws for a role that does not exist. */
  assign(roles: Assignment): void
  readonly log: Log
}

/** Within a second of a change the new roles hold; a file that is broken keeps the last good ones and is told to the log. */
export async function followRoles({ file, load, assign, log }: FollowedRoles): Promise<{ close(): void }> {
  const source = await watched({
    folder: dirname(file),
    fingerprint: () => fileFingerprint(file),
    load,
    changed: (now) => {
      assign(now)
      log('info', 'roles read again', { file, users: Object.keys(now).length })
    },
    broken: (error) =>
      log('error', 'settings are broken, the last good roles stay', {
        file,
        fault: error instanceof Error ? error.message : String(error),
      }),
  })
  // It may have changed since the process read its settings.
  assign(source.current())
  return { close: () => source.close() }
}

/** Creates the access checks: from the users file, or by passing credentials through to the nodes. */
import type { Access, AccessOptions } from './access.ts'
import { createFileAccess } from './file-access.ts'
import { createPassthroughAccess } from './passthrough-access.ts'
import { createRoles } from './roles.ts'

/** Rejects with an `Error` for the operator if a setting, the users file or the folder of keys is invalid. */
export async function createAccess(options: AccessOptions): Promise<Access> {
  checkOptions(options)
  const roles = createRoles(options.roles, options.customRoles, options.knownPermissions)
  const { users } = options
  return 'file' in users ? createFileAccess(options, users.file, roles) : createPassthroughAccess(options, users, roles)
}

function checkOptions({ realm, tokens }: AccessOptions): void {
  if (!/^[ !#-[\]-~]+$/.test(realm)) throw new Error('access.realm: printable ASCII without quotes and backslashes')
  const lifetime = tokens.lifetime()
  if (!Number.isInteger(lifetime) || lifetime < 1 || lifetime > 900)
    throw new Error('access.tokens.lifetime: 1 to 900 seconds')
}

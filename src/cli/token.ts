/** `manager-edge token`: creates signing keys, and tokens for scripts. */
import { mkdir } from 'node:fs/promises'
import { createAccess } from '../access/index.ts'
import { createKeyFile } from '../access/signing-keys.ts'
import { watchUsers } from '../access/users-file.ts'
import { CommandError, loadCommandConfig, print, printError } from './terminal.ts'

/** Creates the folder if it is missing, readable for this user only. */
export async function createKey(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  print(await createKeyFile(folder))
}

/** Prints only the token to standard output, so that a script can read it. */
export async function issueToken(user: string, { config: file }: { config?: string }): Promise<void> {
  const { cluster, access } = await loadCommandConfig(file)
  const { users, tokens } = access
  if (cluster.credentials.mode === 'passthrough' || users === undefined) {
    throw new CommandError('there are no tokens with cluster.credentials.mode: passthrough')
  }
  if (tokens.keys === undefined) {
    throw new CommandError('access.tokens.keys is not set, so no edge would accept the token; create a key first')
  }
  if (!(await hasUser(users, user))) throw new CommandError(`${users} has no user ${user}; "user add" adds one`)
  const lifetime = tokens.lifetime / 1000
  const own = await createAccess({
    users: { file: users },
    roles: {},
    customRoles: {},
    tokens: {
      lifetime: () => lifetime,
      keys: tokens.keys,
      issuers: [],
    },
    limits: { failedLogins: () => access.limits.failedLogins },
    log: (_level, message) => printError(message),
  })
  try {
    print(await own.issueToken(user))
    printError(`valid for ${lifetime} s`)
  } finally {
    await own.close()
  }
}

async function hasUser(file: string, name: string): Promise<boolean> {
  const ignore = (): void => undefined
  const users = await watchUsers(file, ignore, ignore)
  users.close()
  return users.hashOf(name) !== undefined
}

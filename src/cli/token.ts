/** `manager-edge token …`: keys that sign, and tokens for scripts. */
import { mkdir } from 'node:fs/promises'
import Fastify from 'fastify'
import { createAccess } from '../access/access.ts'
import { createKeyFile } from '../access/signing-keys.ts'
import { watchUsers } from '../access/users-file.ts'
import { identity } from '../app/access.ts'
import { createAuthenticator, tokenIssuer } from '../http/authenticate.ts'
import { CommandError, complain, print, settingsFrom } from './terminal.ts'

/** Makes the folder too, for this user alone. */
export async function makeKey(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  print(await createKeyFile(folder))
}

/** Only the token goes to standard output, so that a script can take it. */
export async function issueToken(user: string, { config: file }: { config?: string }): Promise<void> {
  const { cluster, access } = await settingsFrom(file)
  const { users, tokens } = access
  if (cluster.credentials.mode === 'passthrough' || users === undefined) {
    throw new CommandError('with cluster.credentials.mode passthrough there are no tokens')
  }
  if (tokens.keys === undefined) {
    throw new CommandError('access.tokens.keys names no folder, so no edge would take the token; make a key first')
  }
  const list = await watchUsers(
    users,
    () => undefined,
    () => undefined,
  )
  const known = list.hashOf(user) !== undefined
  list.close()
  if (!known) throw new CommandError(`${users} holds no user ${user}; "user add" makes one`)
  const lifetime = tokens.lifetime / 1000
  const own = await createAccess({
    realm: identity.realm,
    users: { file: users },
    roles: {},
    ownRoles: {},
    tokens: { lifetime, keys: tokens.keys, issuer: identity.issuer, audience: identity.audience, issuers: [] },
    limits: { failedLogins: access.limits.failedLogins },
    log: (_level, message) => complain(message),
  })
  const app = Fastify()
  try {
    await createAuthenticator(app, own)
    print(await tokenIssuer(app, own)(user))
    complain(`valid for ${lifetime} s`)
  } finally {
    await Promise.all([app.close(), own.close()])
  }
}

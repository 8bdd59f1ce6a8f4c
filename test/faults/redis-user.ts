/** A Redis user with exactly the ACL of docs/redis.md. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Redis } from 'ioredis'

const PASSWORD = 'only-for-tests'

/** Returns the words of the documented ACL line: name, then rules. */
async function documentedUser(): Promise<string[]> {
  const text = await readFile(new URL('../../docs/redis.md', import.meta.url), 'utf8')
  const line = /^user (edge on .*)$/m.exec(text)?.[1]
  if (line === undefined) throw new Error('docs/redis.md has no ACL line')
  return line.replace('#$digest', `>${PASSWORD}`).split(' ')
}

/** Returns the commands that the documented ACL allows, in lower case. */
export async function documentedCommands(): Promise<string[]> {
  return (await documentedUser()).filter((word) => word.startsWith('+')).map((word) => word.slice(1))
}

export interface RedisUser {
  /** Settings for `cache.redis`. */
  readonly settings: { readonly username: string; readonly passwordFile: string }
  createOn(client: Redis): Promise<void>
  remove(): Promise<void>
}

export async function createRedisUser(): Promise<RedisUser> {
  const rules = await documentedUser()
  const folder = await mkdtemp(join(tmpdir(), 'manager-edge-user-'))
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, PASSWORD, { mode: 0o600 })
  return {
    settings: { username: rules[0] ?? '', passwordFile },
    createOn: async (client) => void (await client.call('ACL', 'SETUSER', ...rules)),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** The user of docs/cache.md, with exactly the commands that it lists. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Redis } from 'ioredis'

const PASSWORD = 'only-for-tests'

/** Words of the line that an operator copies: name, then rules. */
async function documented(): Promise<string[]> {
  const text = await readFile(new URL('../../docs/cache.md', import.meta.url), 'utf8')
  const line = /^user (edge on .*)$/m.exec(text)?.[1]
  if (line === undefined) throw new Error('docs/cache.md names no user')
  return line.replace('CHANGE-ME', PASSWORD).split(' ')
}

/** Commands that the user may give, as the documentation lists them, in lower case. */
export async function documentedCommands(): Promise<string[]> {
  return (await documented()).filter((word) => word.startsWith('+')).map((word) => word.slice(1))
}

export interface RedisUser {
  /** As `cache.redis` wants it. */
  readonly settings: { readonly username: string; readonly passwordFile: string }
  createOn(client: Redis): Promise<void>
  remove(): Promise<void>
}

export async function redisUser(): Promise<RedisUser> {
  const rules = await documented()
  const folder = await mkdtemp(join(tmpdir(), 'manager-edge-user-'))
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, PASSWORD, { mode: 0o600 })
  return {
    settings: { username: rules[0] ?? '', passwordFile },
    createOn: async (client) => void (await client.call('ACL', 'SETUSER', ...rules)),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

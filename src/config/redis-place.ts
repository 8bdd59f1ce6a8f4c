/** Where Redis is and how it is spoken to, from the settings: what the store opens connections with. */
import { readFile } from 'node:fs/promises'
import { redisSpeaksTls } from './cache-rules.ts'
import type { Settings } from './index.ts'

export interface RedisPlace {
  readonly url?: string
  readonly sentinels?: readonly { readonly host: string; readonly port: number }[]
  readonly name?: string
  readonly cluster?: readonly { readonly host: string; readonly port: number }[]
  readonly username?: string
  readonly password?: string
  readonly tls?: { readonly ca?: string }
}

/** `undefined`: no Redis is configured. Reads the CA; rejects where that cannot be read any more. */
export async function redisPlace(redis: Settings['cache']['redis']): Promise<RedisPlace | undefined> {
  const { url, sentinels, name, cluster, username, password, tls } = redis
  if (url === undefined && sentinels.length === 0 && cluster.length === 0) return undefined
  const ca = tls.ca === undefined ? {} : { ca: await readFile(tls.ca, 'utf8') }
  return {
    ...(url !== undefined && { url }),
    ...(sentinels.length > 0 && { sentinels }),
    ...(name !== undefined && { name }),
    ...(cluster.length > 0 && { cluster }),
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(redisSpeaksTls(redis) && { tls: ca }),
  }
}

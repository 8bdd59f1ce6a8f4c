/** The addresses that the configuration names. */
import type { Config } from '../config/schema.ts'
import { usesRedisTls } from '../config/section-rules.ts'

export interface ServerAddress {
  readonly host: string
  readonly port: number
  readonly isSecure: boolean
}

/** Returns the servers and sentinels of the settings. A socket of Unix is no place. */
export function redisPlaces(redis: Config['cache']['redis']): readonly ServerAddress[] {
  const isSecure = usesRedisTls(redis)
  const addresses = [...redis.sentinels, ...redis.cluster].map((address) => ({ ...address, isSecure }))
  if (addresses.length > 0 || redis.url === undefined) return addresses
  const host = hostOf(redis.url)
  return host === '' ? [] : [{ host, port: Number(new URL(redis.url).port || 6379), isSecure }]
}

/** Returns the name or address in a URL. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '')
}

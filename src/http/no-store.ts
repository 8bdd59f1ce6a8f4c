/** `Cache-Control: no-store` for everything that no cache may store: secrets, errors, writes. */
import caching, { type AbstractCacheCompliantObject } from '@fastify/caching'
import type { FastifyInstance } from 'fastify'

export const NO_STORE = 'no-store'

/** In callback style: the plugin waits for callbacks only. */
const emptyCache: AbstractCacheCompliantObject = {
  get: (_key: unknown, done?: (error: null, found: null) => void) => {
    done?.(null, null)
    return Promise.resolve(null)
  },
  set: (_key, _value, _ttl, done) => done?.(null, undefined),
}

/**
 * Lets @fastify/caching set `Cache-Control: no-store` on each response of this scope without a `Cache-Control`. The
 * plugin also answers 304 for every tag that its own cache contains, whatever the URL and the caller. So its cache is
 * empty, and the plugin is registered in the scope of the routes, after the hooks that authenticate.
 */
export async function registerNoStore(scope: FastifyInstance): Promise<void> {
  await scope.register(caching, { privacy: NO_STORE, cache: emptyCache })
}

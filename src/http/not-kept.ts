/**
 * @fastify/caching, where it is good: the header of answers that are not ours to keep. Its 304 hook goes by the tag alone,
 * whatever the URL and whoever asks, so it is given a memory that holds nothing, and it is registered in the scope of
 * these routes only: hooks of the app, which let nobody in unknown, run before those of a scope.
 */
import caching, { type AbstractCacheCompliantObject } from '@fastify/caching'
import type { FastifyInstance } from 'fastify'
import { NO_STORE } from './cache-headers.ts'

/** In the style of callbacks: with promises the plugin never answers. */
const nothing: AbstractCacheCompliantObject = {
  get: (_key: unknown, done?: (fault: null, found: null) => void) => {
    done?.(null, null)
    return Promise.resolve(null)
  },
  set: (_key, _value, _life, done) => done?.(null, undefined),
}

/** From now on every answer of this scope without a `Cache-Control` says `no-store`. */
export async function notKeptHeaders(scope: FastifyInstance): Promise<void> {
  await scope.register(caching, { privacy: NO_STORE, cache: nothing })
}

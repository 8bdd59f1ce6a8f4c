/** Responses that no cache may store. */
import caching from '@fastify/caching'
import type { FastifyInstance } from 'fastify'

/** For everything that no cache may store: secrets, errors, writes. */
export const NO_STORE = 'no-store'

/**
 * Lets @fastify/caching set `Cache-Control: no-store` on each response of this scope without a `Cache-Control`. The
 * plugin also answers 304 for a tag that was set by its `reply.etag`, whatever the URL and the caller. So the edge never
 * calls that function, and the plugin is registered in the scope of the routes, after the hooks that authenticate.
 */
export async function registerNoStore(scope: FastifyInstance): Promise<void> {
  await scope.register(caching, { privacy: NO_STORE })
}

/** Who the caller is: verifies and remembers credentials, and counts requests against the rate limits. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Access, Recheck } from '../access/access.ts'
import { MAX_IN_USE, RecentlyUsed } from '../core/recently-used.ts'
import type { Caller } from '../core/request.ts'
import { refusal, registerCredentials } from './credentials.ts'
import { networkOf, type RateLimits, registerRateLimiters } from './rate-limit.ts'
import type { CountRequest } from './request-counts.ts'

/** Recognises the callers of an app, and counts their requests against their limits. */
export type OperatorAuthenticator = Awaited<ReturnType<typeof createAuthenticator>>

/** What the listeners for clients need of it. */
export type Authenticator = Pick<OperatorAuthenticator, 'recall' | 'countHit' | 'authenticate' | 'charge'>

/** After one to two times as long without use, credentials are no longer in memory. */
const FORGET_AFTER_MS = 60_000

/** Registers the plugins on the app, once. `count`: rate limits are counted over all replicas. */
export async function createAuthenticator(
  app: FastifyInstance,
  access: Access,
  rateLimits: RateLimits,
  count?: CountRequest,
) {
  const limits = await registerRateLimiters(app, rateLimits, count)
  const { recall, verify } = rememberCredentials(app, access, await registerCredentials(app, access))
  return {
    recall,
    /**
     * Counts a hit of the caller with this name; returns `false` if the limit is exceeded. `authenticate` then counts the
     * request again, and rejects it.
     */
    countHit: limits.hits.count,
    /**
     * Counts the request against its rate limits and returns its caller. Rejects with 900, 901, 903, 904 or
     * 911. `costs`: the request certainly costs, so it counts against the limits on such requests too.
     */
    authenticate: async (
      request: FastifyRequest,
      reply: FastifyReply,
      clientAddress: string,
      costs: boolean,
    ): Promise<Caller> => {
      const known = recall(request.headers.authorization, clientAddress)
      request.authentication = { clientAddress, caller: known }
      if (costs || known === undefined) await limits.address.check(request)
      const caller = known ?? (await verify(request, reply))
      request.authentication.caller = caller
      await limits.hits.check(request)
      if (costs) await limits.caller.check(request)
      return caller
    },
    ...signInChecks(access, limits),
    /** Pipeline: counts a request that turns out to cost. Throws 903. */
    charge: (caller: Caller, clientAddress: string, isBulk = false): void => {
      if (isBulk) limits.bulk.charge(caller.name)
      limits.address.charge(networkOf(clientAddress))
      limits.caller.charge(caller.name)
    },
  }
}

/** Remembers credentials that were verified, until they are not used any more or the app closes. */
function rememberCredentials(
  app: FastifyInstance,
  access: Access,
  verifyCredentials: Awaited<ReturnType<typeof registerCredentials>>,
) {
  // By the text of the header: a digest of it costs as much as the lookup of a response.
  const remembered = new RecentlyUsed<Recheck>(MAX_IN_USE)
  const forgetting = setInterval(() => remembered.beginGeneration(), FORGET_AFTER_MS).unref()
  app.addHook('onClose', async () => clearInterval(forgetting))
  return {
    /** Rejects as `verifyCredentials` does, and with the error of the access check. */
    verify: async (request: FastifyRequest, reply: FastifyReply): Promise<Caller> => {
      const result = await verifyCredentials(request, reply)
      const { authorization = '' } = request.headers
      if (!result.ok) {
        remembered.delete(authorization)
        throw refusal(access, result)
      }
      remembered.set(authorization, result.recheck)
      return result.caller
    },
    /**
     * Returns the caller of credentials that were verified before, with its present permissions; `undefined`: they must be
     * verified again. That they still hold is asked each time (`Recheck` in access/): the user and its password in the users
     * file, the end and the revocation of a token, the block of an address.
     */
    recall: (authorization: string | undefined, clientAddress: string): Caller | undefined => {
      if (authorization === undefined) return undefined
      return remembered.get(authorization)?.(authorization, networkOf(clientAddress))
    },
  }
}

/** For the operations listener, which has sign-ins beside the header `Authorization`. */
function signInChecks(access: Access, limits: Awaited<ReturnType<typeof registerRateLimiters>>) {
  return {
    /** As `authenticate`, for a name and a password that are not in a header. Rejects with 901, 903, 904 or 920. */
    authenticatePassword: async (
      request: FastifyRequest,
      clientAddress: string,
      { name, password }: { readonly name: string; readonly password: string },
    ): Promise<Caller> => {
      request.authentication = { clientAddress, caller: undefined }
      await limits.address.check(request)
      const result = await access.authenticatePassword(networkOf(clientAddress), { username: name, password })
      if (!result.ok) throw refusal(access, result)
      return result.caller
    },
    /** Counts a request of a caller that was recognised by a session. Rejects with 903. */
    countCaller: async (request: FastifyRequest, clientAddress: string, caller: Caller): Promise<void> => {
      request.authentication = { clientAddress, caller }
      await limits.hits.check(request)
      await limits.caller.check(request)
    },
    /** Counts a request without a caller. Rejects with 903. */
    countAddress: (request: FastifyRequest, clientAddress: string): Promise<void> => {
      request.authentication = { clientAddress, caller: undefined }
      return limits.address.check(request)
    },
  }
}

/**
 * Rate limits. One client that sends too much uses up its own limits only.
 *
 * Every request of an authenticated caller counts against the limit on hits. A request that costs counts against two
 * lower limits as well, one of its caller and one of its address: a write, a read that a node or a `/cache` operation
 * answers. The address also pays for each verification of credentials, before it is done.
 *
 * @fastify/rate-limit decides at admission. Where it cannot, the same store is counted in: a prepared hit must not
 * wait, and leaves requests over the limit to the plugin; a read turns out to cost only in the pipeline.
 */
import fastifyRateLimit, { type FastifyRateLimitStoreCtor, normalizeIP } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../config/schema.ts'
import { EdgeError, retryAfter } from '../core/errors.ts'
import { MAX_IN_USE, RecentlyUsed } from '../core/recently-used.ts'
import type { Caller } from '../core/request.ts'
import { ownText } from '../core/values.ts'
import { type CountRequest, countInProcess } from './request-counts.ts'

/** Charges a caller and its address for a request that turns out to cost. `isBulk`: the client always has one. Throws 903. */
export type Charge = (caller: Caller, clientAddress: string, isBulk?: boolean) => void

/** Bulk clients that ignore `Retry-After` leave the rest of the limit to the other clients of their user. */
const BULK_SHARE = 0.5

/** Requests per second that cost, from one address, as a multiple of the limit per caller. */
const CALLERS_PER_ADDRESS = 10
const SECOND_MS = 1000

export interface RateLimit {
  /** Returns the limit of requests in the window. */
  readonly max: () => number
  readonly windowMs: number
}

/** A limit that is absent is unlimited. */
export interface RateLimits {
  /** All requests of a caller, hits included. */
  readonly hitsPerCaller?: RateLimit
  /** Requests of a caller that cost: all but hits. */
  readonly perCaller?: RateLimit
  /** The same from an address, and verifications of credentials. */
  readonly perAddress?: RateLimit
}

type DeriveLimit = (make: (config: Config) => number) => () => number

/** Returns the limits of callers and addresses. `derive` returns a function that returns a limit of the settings in use. */
export function rateLimitsOf(derive: DeriveLimit): RateLimits {
  const perSecond = (maxOf: (limits: Config['access']['limits']) => number): RateLimit => ({
    windowMs: SECOND_MS,
    max: derive(({ access: { limits } }) => maxOf(limits)),
  })
  return {
    // A request that costs counts as well, so this limit is never below the other one.
    hitsPerCaller: perSecond(({ hitsPerSecond, requestsPerSecond }) => Math.max(hitsPerSecond, requestsPerSecond)),
    perCaller: perSecond(({ requestsPerSecond }) => requestsPerSecond),
    perAddress: perSecond(({ requestsPerSecond }) => requestsPerSecond * CALLERS_PER_ADDRESS),
  }
}

/** Registers @fastify/rate-limit on the app. Without `count`, the app counts by itself. */
export async function registerRateLimiters(
  app: FastifyInstance,
  limits: RateLimits,
  count: CountRequest = countInProcess(),
) {
  await app.register(fastifyRateLimit, { global: false, store: storeOver(count) })
  const { perCaller } = limits
  const perBulk = perCaller && { ...perCaller, max: () => Math.ceil(perCaller.max() * BULK_SHARE) }
  const addressOf = ({ authentication }: FastifyRequest) => networkOf(authentication.clientAddress)
  return {
    hits: createRateLimiter(app, 'hits', limits.hitsPerCaller, count, callerOf),
    /** Requests of a caller that cost. */
    caller: createRateLimiter(app, 'caller', perCaller, count, callerOf),
    /** Those of them that bulk clients send. */
    bulk: createRateLimiter(app, 'bulk', perBulk, count, callerOf),
    /** Requests from a network that cost, and verifications of credentials. */
    address: createRateLimiter(app, 'address', limits.perAddress, count, addressOf),
  }
}

function callerOf({ authentication: { caller } }: FastifyRequest): string {
  // The limits of callers are checked when the credentials are verified.
  if (caller === undefined) throw new EdgeError(949)
  return caller.name
}

/** Returns a limiter of this kind. `nameOf`: returns the name of the caller or network whose requests are counted together. */
function createRateLimiter(
  app: FastifyInstance,
  kind: string,
  limit: RateLimit | undefined,
  count: CountRequest,
  nameOf: (request: FastifyRequest) => string,
) {
  if (limit === undefined) return { count: () => true, check: async () => {}, charge: () => {} }
  const { windowMs: window } = limit
  const options = { kind, max: limit.max, timeWindow: window, keyGenerator: nameOf }
  const checkRateLimit = app.createRateLimit(options)
  return {
    /** Counts one request; returns `false` if the limit is exceeded. */
    count: (name: string): boolean => {
      const max = limit.max()
      return count(kind, name, window, max).count <= max
    },
    /** Counts the request whose `authentication` is set; rejects with 903, `Retry-After` and `RateLimit-*` over the limit. */
    check: async (request: FastifyRequest): Promise<void> => {
      const counted = await checkRateLimit(request)
      if (counted.isAllowed || !counted.isExceeded) return
      throw tooManyRequests(counted.max, counted.ttl)
    },
    /** Pipeline: as `check`, without a wait; throws. */
    charge: (name: string): void => {
      const max = limit.max()
      const { count: counted, ends } = count(kind, name, window, max)
      if (counted > max) throw tooManyRequests(max, ends)
    },
  }
}

/** `ends`: milliseconds until the window ends. */
function tooManyRequests(max: number, ends: number): EdgeError {
  const wait = retryAfter(ends)
  return new EdgeError(903, '', {
    headers: {
      ...wait,
      'ratelimit-limit': String(max),
      'ratelimit-remaining': '0',
      'ratelimit-reset': wait['retry-after'],
    },
  })
}

/**
 * The plugin's Redis store is not used: it would make every request wait for a Redis command. Each limiter has a child of the
 * store, which the plugin makes with the options of the limiter.
 */
function storeOver(count: CountRequest, kind = ''): FastifyRateLimitStoreCtor {
  return class {
    incr(
      name: string,
      done: (error: null, result: { current: number; ttl: number }) => void,
      window: number,
      max: number,
    ) {
      const { count: current, ends: ttl } = count(kind, name, window, max)
      done(null, { current, ttl })
    }
    child(options: object) {
      return new (storeOver(count, ownText(options, 'kind')))({})
    }
  }
}

const networks = new RecentlyUsed<string>(MAX_IN_USE)

/** Returns what is counted as one client: an IPv4 address, or the IPv6 network of 64 bits that one client owns. */
export function networkOf(clientAddress: string): string {
  // Parsing costs half as much as a hit.
  return clientAddress.includes(':') ? networks.getOrCreate(clientAddress, normalizeIP) : clientAddress
}

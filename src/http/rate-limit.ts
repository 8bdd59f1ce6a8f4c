/**
 * Requests limited by address before anything is decided about them, and by caller as soon as it is known: one noisy
 * client uses up its own share, not everybody's.
 */
import fastifyRateLimit, { type FastifyRateLimitStoreCtor, normalizeIP } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RateLimit } from '../access/access.ts'
import { EdgeError } from '../core/errors.ts'
import { RecentlyUsed } from '../core/recently-used.ts'
import type { Caller } from '../core/request.ts'

export interface RequestLimits {
  /** Both reject with 903, `Retry-After` and `RateLimit-*` when the share is used up; `undefined`: it is not, go on at once. */
  address(clientAddress: string): Promise<void> | undefined
  caller(caller: Caller): Promise<void> | undefined
}

/**
 * The port: counts one request of a key in a window of so many milliseconds, and gives the count of all replicas and
 * the milliseconds until the window ends. It never waits for anything: it stands before each answer.
 */
export type CountRequest = (
  key: string,
  window: number,
  most: number,
) => { readonly count: number; readonly ends: number }

const NAMES = 5000

type Check = (key: string) => Promise<void> | undefined

/** All that the plugin reads of a request. */
type Counted = Pick<FastifyRequest, 'routeOptions'> & { readonly key: string }

/** Registers @fastify/rate-limit, once; a limit that is not set does not limit. Without `count`: each process for itself. */
export async function requestLimits(
  app: FastifyInstance,
  limits: { readonly perAddress?: RateLimit; readonly perCaller?: RateLimit },
  count?: CountRequest,
): Promise<RequestLimits> {
  await app.register(fastifyRateLimit, { global: false, ...(count && { store: storeOf(count) }) })
  const byAddress = checkOf(app, limits.perAddress, count)
  const byCaller = checkOf(app, limits.perCaller, count)
  const addresses = names((clientAddress) => `address ${addressOf(clientAddress)}`)
  const callers = names((name) => `caller ${name}`)
  return {
    address: (clientAddress) => byAddress(addresses(clientAddress)),
    caller: ({ name }) => byCaller(callers(name)),
  }
}

/** The same text each time for the same name: one that is made anew is hashed anew where it is looked up. */
function names(make: (name: string) => string): (name: string) => string {
  const known = new RecentlyUsed<string>(NAMES)
  return (name) => {
    const found = known.get(name)
    if (found !== undefined) return found
    const made = make(name)
    known.set(name, made)
    return made
  }
}

/** In the plugin's terms. It knows a Redis of its own, but would ask it before each answer. */
function storeOf(count: CountRequest): FastifyRateLimitStoreCtor {
  return class Store {
    incr(
      key: string,
      done: (error: null, result: { current: number; ttl: number }) => void,
      window: number,
      most: number,
    ) {
      const { count: current, ends: ttl } = count(key, window, most)
      done(null, { current, ttl })
    }
    child() {
      return this
    }
  }
}

/** The address that counts: an IPv6 network of 64 bits is one client, who owns all of it. */
export function addressOf(clientAddress: string): string {
  return clientAddress.includes(':') ? normalizeIP(clientAddress) : clientAddress
}

function checkOf(app: FastifyInstance, limit: RateLimit | undefined, countAtOnce?: CountRequest): Check {
  if (limit === undefined) return () => undefined
  const keyGenerator = (request: FastifyRequest) => (request as unknown as Counted).key
  const count = app.createRateLimit({ max: limit.max, timeWindow: limit.windowMs, keyGenerator })
  const check = async (key: string) => {
    const counted = await count({ key, routeOptions: {} } as Counted as unknown as FastifyRequest)
    if (counted.isAllowed || !counted.isExceeded) return
    const seconds = String(Math.max(1, counted.ttlInSeconds))
    throw new EdgeError(903, '', {
      headers: {
        'retry-after': seconds,
        'ratelimit-limit': String(counted.max),
        'ratelimit-remaining': String(counted.remaining),
        'ratelimit-reset': seconds,
      },
    })
  }
  if (countAtOnce === undefined) return check
  const { max, windowMs: window } = limit
  // The plugin decides by the same count, but not at once. Whoever is over counts twice, and is over all the same.
  return (key) => (countAtOnce(key, window, max).count > max ? check(key) : undefined)
}

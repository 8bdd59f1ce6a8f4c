/**
 * Requests limited by address before anything is decided about them, and by caller as soon as it is known: one noisy
 * client uses up its own share, not everybody's (users.md A18).
 */
import fastifyRateLimit, { type FastifyRateLimitStoreCtor, normalizeIP } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RequestLimit } from '../auth/access.ts'
import { EdgeError } from '../errors.ts'
import type { Caller } from '../pipeline/ports.ts'

export interface RequestLimits {
  /** Both reject with 903, `Retry-After` and `RateLimit-*` when the share is used up. */
  address(request: FastifyRequest): Promise<void>
  caller(request: FastifyRequest, caller: Caller): Promise<void>
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

type Check = (request: FastifyRequest) => Promise<void>

/** Registers @fastify/rate-limit, once; a limit that is not set does not limit. Without `count`: each process for itself. */
export async function requestLimits(
  app: FastifyInstance,
  limits: { readonly perAddress?: RequestLimit; readonly perCaller?: RequestLimit },
  count?: CountRequest,
): Promise<RequestLimits> {
  await app.register(fastifyRateLimit, { global: false, ...(count && { store: storeOf(count) }) })
  const callers = new WeakMap<FastifyRequest, string>()
  const byAddress = checkOf(app, limits.perAddress, (request) => `address ${addressOf(request)}`)
  const byCaller = checkOf(app, limits.perCaller, (request) => `caller ${callers.get(request) ?? ''}`)
  return {
    address: byAddress,
    caller: (request, caller) => {
      callers.set(request, caller.name)
      return byCaller(request)
    },
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
export function addressOf(request: FastifyRequest): string {
  return normalizeIP(request.clientAddress)
}

function checkOf(
  app: FastifyInstance,
  limit: RequestLimit | undefined,
  key: (request: FastifyRequest) => string,
): Check {
  if (limit === undefined) return async () => {}
  const count = app.createRateLimit({ max: limit.max, timeWindow: limit.window, keyGenerator: key })
  return async (request) => {
    const counted = await count(request)
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
}

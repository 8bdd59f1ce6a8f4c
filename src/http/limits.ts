/**
 * Requests limited by address before anything is decided about them, and by caller as soon as it is known: one noisy
 * client uses up its own share, not everybody's (users.md A18).
 */
import fastifyRateLimit, { normalizeIP } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RequestLimit } from '../auth/access.ts'
import { EdgeError } from '../errors.ts'
import type { Caller } from '../pipeline/ports.ts'

export interface RequestLimits {
  /** Both reject with 903, `Retry-After` and `RateLimit-*` when the share is used up. */
  address(request: FastifyRequest): Promise<void>
  caller(request: FastifyRequest, caller: Caller): Promise<void>
}

type Check = (request: FastifyRequest) => Promise<void>

/** Registers @fastify/rate-limit, once; a limit that is not set does not limit. */
export async function requestLimits(
  app: FastifyInstance,
  limits: { readonly perAddress?: RequestLimit; readonly perCaller?: RequestLimit },
): Promise<RequestLimits> {
  await app.register(fastifyRateLimit, { global: false })
  const callers = new WeakMap<FastifyRequest, string>()
  const byAddress = checkOf(app, limits.perAddress, addressOf)
  const byCaller = checkOf(app, limits.perCaller, (request) => callers.get(request) ?? '')
  return {
    address: byAddress,
    caller: (request, caller) => {
      callers.set(request, caller.name)
      return byCaller(request)
    },
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

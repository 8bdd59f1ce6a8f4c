/**
 * Admission: who the caller is, and every check that depends on the headers of a request, in one order. A request is
 * rejected with the error of the first check that fails.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Access, Recheck } from '../access/access.ts'
import type { Endpoint } from '../contracts/endpoint.ts'
import { allows, asksForSecret } from '../core/access.ts'
import { EdgeError } from '../core/errors.ts'
import { MAX_IN_USE, RecentlyUsed } from '../core/recently-used.ts'
import type { Caller } from '../core/request.ts'
import type { HttpContract } from './contract.ts'
import { refusal, registerCredentials } from './credentials.ts'
import type { Values } from './parameters.ts'
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
     * Counts a hit; returns `false` if the limit is exceeded. `authenticate` then counts the request again, and rejects
     * it.
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
      const authentication = begin(request, clientAddress, known)
      if (costs || known === undefined) await limits.address.check(request)
      const caller = known ?? (await verify(request, reply))
      authentication.caller = caller
      await limits.hits.check(request)
      if (costs) await limits.caller.check(request)
      return caller
    },
    ...signInChecks(access, limits),
    /** Pipeline: counts a request that turns out to cost. Throws 903. */
    charge: (caller: Caller, clientAddress: string, isBulk = false): void => {
      if (isBulk) limits.bulk.charge(caller)
      limits.address.charge(clientAddress)
      limits.caller.charge(caller)
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

function begin(request: FastifyRequest, clientAddress: string, caller?: Caller) {
  request.authentication = { clientAddress, ...(caller && { caller }) }
  return request.authentication
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
      begin(request, clientAddress)
      await limits.address.check(request)
      const result = await access.authenticatePassword(networkOf(clientAddress), { username: name, password })
      if (!result.ok) throw refusal(access, result)
      return result.caller
    },
    /** Counts a request of a caller that was recognised by a session. Rejects with 903. */
    countCaller: async (request: FastifyRequest, clientAddress: string, caller: Caller): Promise<void> => {
      begin(request, clientAddress, caller)
      await limits.hits.check(request)
      await limits.caller.check(request)
    },
    /** Counts a request without a caller. Rejects with 903. */
    countAddress: (request: FastifyRequest, clientAddress: string): Promise<void> => {
      begin(request, clientAddress)
      return limits.address.check(request)
    },
  }
}

/** The endpoint of a request and what its admission depends on. */
interface AdmissionTarget {
  readonly endpoint: Endpoint
  readonly query: Values
}

const READ_SECRETS = 'secrets:read'
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

interface AdmissionParts {
  readonly authenticator: Pick<Authenticator, 'authenticate'>
  readonly managerVersion: () => string | undefined
  readonly contract: HttpContract
  readonly refusalByRights?: RefusalByRights
}

/** Resolves to the error with which the manager refuses the caller; `undefined`: it may not. */
export type RefusalByRights = (caller: Caller, endpoint: Endpoint) => Promise<EdgeError | undefined>

/** A smaller body costs less than to ask the manager. */
const LARGE_BODY_BYTES = 64 * 1024

/** Whether the body is large, or its length is not known before it is read. */
function mayHaveLargeBody({ 'content-length': length, ...headers }: FastifyRequest['headers']): boolean {
  if (headers['transfer-encoding'] !== undefined) return true
  return Number(length ?? 0) > (headers['content-encoding'] === undefined ? LARGE_BODY_BYTES : 0)
}

/** Returns the hook that admits a request. It rejects with the error of the first check that fails. */
export function createAdmission({ authenticator, managerVersion, contract, refusalByRights }: AdmissionParts) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { edge, headers, routeOptions } = request
    edge.nextStage('authenticate')
    // Whether a read costs is known in the pipeline. A write certainly costs, and pays before anything else is decided:
    // each write that is refused later is an audit record.
    const costs = !READS.has(request.method)
    edge.caller = await authenticator.authenticate(request, reply, edge.clientAddress, costs)
    if (costs && edge.caller.isOnlyForReads)
      throw new EdgeError(920, ' to check the token', { headers: { 'retry-after': '1' } })
    edge.nextStage('authorise')
    const { url = '' } = request.raw
    const { endpoint: found, permission = '' } = routeOptions.config
    const { query, flags } = contract.parseQuery(url, found)
    edge.flags = flags
    request.query = query
    if (permission !== '') return requirePermission(edge.caller, permission)
    const endpoint = contract.served(found, request.method, url)
    const appVersion = headers['wazuh-app-version']
    if (appVersion !== undefined && contract.comparesAppVersion) checkAppVersion(appVersion, managerVersion)
    authorise(edge.caller, { endpoint, query })
    if ('body' in endpoint || headers['content-encoding'] !== undefined) contract.checkContentHeaders(headers, endpoint)
    const refused = mayHaveLargeBody(headers) ? await refusalByRights?.(edge.caller, endpoint) : undefined
    if (refused !== undefined) throw refused
    edge.nextStage('validate')
  }
}

/** Of the route of a plugin. */
function requirePermission({ permissions }: Caller, permission: string): void {
  if (permission !== 'signedIn' && !allows(permissions, permission)) throw denied(permission)
}

/** Anything that no role grants is denied: throws 902, naming the missing permission. */
export function authorise(caller: Caller, target: AdmissionTarget): void {
  const missing = missingPermission(caller, target)
  if (missing !== undefined) throw denied(missing)
}

function denied(permission: string): EdgeError {
  return new EdgeError(902, `. Permission needed: ${permission}`)
}

export function missingPermission({ permissions }: Caller, { endpoint, query }: AdmissionTarget): string | undefined {
  const needed = endpoint.permission
  if (needed !== 'signedIn' && !allows(permissions, needed)) return needed
  const { secret, allFieldsWithout } = endpoint
  const isSecret = secret !== 'none' || allFieldsWithout !== undefined || asksForSecret(endpoint, query)
  return isSecret && !allows(permissions, READ_SECRETS) ? READ_SECRETS : undefined
}

const VERSION = /^v?([0-9]{1,4})\.([0-9]{1,4})\.[0-9]{1,4}$/

/**
 * `wazuh-app-version`: a client that sends its version needs a manager of the same major and minor version (contract,
 * errors 801 and 802). The edge compares with the version that the nodes report (`3.11.5`, `Wazuh v3.11.5`). Where there
 * is none to compare with, only malformed headers are rejected.
 */
function checkAppVersion(header: string | string[], managerVersion: () => string | undefined): void {
  const app = typeof header === 'string' ? VERSION.exec(header) : null
  if (app === null) throw new EdgeError(801)
  const manager = VERSION.exec(managerVersion()?.split(' ').at(-1) ?? '')
  if (manager === null || (app[1] === manager[1] && app[2] === manager[2])) return
  const minorOf = ([, major, minor]: RegExpExecArray) => `'${major}.${minor}.x'`
  throw new EdgeError(802, `. Expected version ${minorOf(manager)}, and found ${minorOf(app)}.`)
}

/** Builds the ports for clients: a listener and an HTTP application for each contract. */
import type { Access } from '../access/access.ts'
import type { AcceptedTokens } from '../cache/accepted-tokens.ts'
import type { CallerRights } from '../cache/caller-rights.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { Config } from '../config/schema.ts'
import type { Contract, Endpoint } from '../contracts/endpoint.ts'
import { bothContracts, catalogue } from '../contracts/index.ts'
import { rightsNeeded, v4Contract as v4Records, withManagerUsers } from '../contracts/v4/index.ts'
import { parseName } from '../core/endpoint-names.ts'
import { EdgeError, Problem } from '../core/errors.ts'
import type { Handler } from '../core/request.ts'
import { createAuthenticator } from '../http/admit.ts'
import { BodyBudget } from '../http/body-budget.ts'
import { addressOfRequests, clientAddress } from '../http/client-address.ts'
import { type HttpContract, methodsAt as methodsOf } from '../http/contract.ts'
import {
  createHttp,
  createReadFinder,
  createUrlResolver,
  type FindRead,
  type Http,
  type HttpOptions,
  type ResolveUrl,
} from '../http/index.ts'
import { rateLimitsOf } from '../http/rate-limit.ts'
import { rejectionReporter } from '../http/request-events.ts'
import { v3Contract } from '../http/v3.ts'
import { v4Contract } from '../http/v4/contract.ts'
import { problemForm } from '../http/v4/problem.ts'
import { createListener, type Listener } from '../listener/listener.ts'
import type { Cluster } from '../upstream/index.ts'
import type { KindOf } from '../upstream/kinds.ts'
import { checkTokensAtNode } from './access.ts'
import { type Base, createTraceStarter } from './base.ts'

/** A port for clients of one contract. */
export interface Front extends Http {
  readonly listener: Listener
  readonly port: number
  readonly contract: Contract
}

interface FrontParts {
  readonly access: Access
  readonly cluster: Cluster
  readonly kindOf: KindOf
  readonly contracts: ServedContracts
  readonly handler: Handler
  readonly acceptedTokens: AcceptedTokens | undefined
  readonly callerRights: CallerRights | undefined
  readonly registerPlugins: NonNullable<HttpOptions['plugins']>
}

interface FrontSettings {
  readonly contract: Contract
  readonly port: number
}

/** Rejects with an `Error` for the operator if the certificate or a setting cannot be used. */
export async function buildFronts(base: Base, parts: FrontParts): Promise<readonly Front[]> {
  const { settings, audit, shared, log, emit, traces } = base
  const { access, cluster, kindOf, handler, acceptedTokens, callerRights } = parts
  const { initial, current, derive } = settings
  const { listen } = initial
  const { addressOf, isKnown } = addressOfRequests(
    derive(({ listen }) => clientAddress(listen.trustedProxies)),
    (fields) => log.warn(fields, 'client address not readable: the client counts as the proxy'),
  )
  const onReject = rejectionReporter(addressOf, emit.request)
  const usesManagerUsers = initial.cluster.credentials.mode === 'passthrough'
  const rateLimits = rateLimitsOf(derive)
  const timeout = derive((config) => config.cluster.limits.timeout)
  const accessOf: Readonly<Record<Contract, typeof access>> = {
    v3: access,
    v4: usesManagerUsers
      ? checkTokensAtNode(access, {
          cluster,
          accepted: acceptedTokens,
          timeout,
          failedLogins: derive((config) => config.access.limits.failedLogins),
          counters: shared?.counters,
          hasEnded: base.endedTokens.hasEnded,
        })
      : access,
  }
  const bodies = new BodyBudget(() => {
    const { limits, timeouts } = current().listen
    return { upload: limits.upload, timeout: timeouts.body }
  })
  const createFront = async ({ contract, port }: FrontSettings): Promise<Front> => {
    const served = parts.contracts.get(contract)
    if (served === undefined) throw new Error(`no port serves the ${contract} contract`)
    const form = contract === 'v4' && { rejectionForm: problemForm }
    const methodsAt = (url: string) => methodsOf(served, url)
    const cors = listen.cors.origins.length > 0
    const listener = await createListener({ ...listen, cors, log, onReject, methodsAt, ...form })
    const http = await createHttp({
      contract: served,
      handle: handler,
      observe: emit.request,
      onRejected: audit.onRejected,
      ...(traces && { beginTrace: createTraceStarter(derive, traces) }),
      recordStages: base.events.beginStages,
      server: listener.fastify,
      log,
      bodies,
      settings: current,
      clientAddress: addressOf,
      isAddressKnown: isKnown,
      ...(usesManagerUsers &&
        callerRights && { refusalByRights: (caller, to) => callerRights.refusalOf(caller, rightsNeeded(to)) }),
      managerVersion: () => kindOf(cluster.view).clientVersion(cluster.view),
      authentication: (instance) => createAuthenticator(instance, accessOf[contract], rateLimits, shared?.count),
      plugins: parts.registerPlugins,
    })
    return { ...http, listener, port, contract }
  }
  /** The first one is that of `listen.port`. */
  const all: readonly Front[] = await Promise.all(portsOf(listen).map(createFront))
  settings.onReload(async (next) => {
    const reloads = await Promise.all(all.map(({ listener }) => listener.prepareReload(next.listen)))
    return () => {
      for (const apply of reloads) apply()
      for (const { forgetUrls } of all) forgetUrls()
    }
  })
  return all
}

/** What the ports accept, and the functions that find reads in it. The pipeline needs these before the ports exist. */
export function buildContracts({ initial, current }: ReloadableConfig, cluster: Cluster) {
  const usesManagerUsers = initial.cluster.credentials.mode === 'passthrough'
  const create = {
    v3: v3Contract(catalogue),
    v4: v4Contract({
      catalogue: usesManagerUsers ? withManagerUsers(v4Records) : v4Records,
      releases: () => cluster.view.releases?.() ?? {},
    }),
  }
  const served: ServedContracts = new Map(
    portsOf(initial.listen).map(({ contract }) => [contract, create[contract](current)]),
  )
  const v4 = served.get('v4')
  const findV4Read: FindRead = v4 === undefined ? () => undefined : createReadFinder(v4)
  return { served, resolveUrl: resolverOf(served), findV4Read }
}

type ServedContracts = ReadonlyMap<Contract, HttpContract>

/**
 * Resolves the name of a URL at the port of its contract. Throws 604 if there is none, or the caller may not use it: in mode
 * passthrough, the credentials of a caller are those of one contract, and so are its stored responses.
 */
function resolverOf(served: ServedContracts): ResolveUrl {
  const resolvers = new Map([...served].map(([name, contract]) => [name, createUrlResolver(contract)]))
  return (name, caller) => {
    const { contract, path } = parseName(name)
    const resolve = resolvers.get(contract)
    if (resolve === undefined) throw new EdgeError(604, `. No port of this edge serves the ${contract} contract`)
    const ofOther = contract === 'v4' ? caller.credentials : caller.nodeToken
    if (ofOther !== undefined) throw new EdgeError(604, `. Explain this url at the port of the ${contract} contract`)
    try {
      return resolve(path, caller)
    } catch (error) {
      // The url is a parameter of the request that is answered.
      if (error instanceof Problem && error.code === 614)
        throw new Problem(604, { title: error.title, detail: error.detail })
      throw error
    }
  }
}

/** Returns the records of the contracts that clients can use. */
export function servedRecords({ listen }: Pick<Config, 'listen'>): readonly Endpoint[] {
  const contracts = new Set(portsOf(listen).map(({ contract }) => contract))
  return bothContracts.filter(({ contract }) => contracts.has(contract))
}

export function servesV4Contract(listen: Config['listen']): boolean {
  return portsOf(listen).some(({ contract }) => contract === 'v4')
}

export function portsOf({ contract, port, secondPort }: Config['listen']): readonly FrontSettings[] {
  const other = contract === 'v3' ? 'v4' : 'v3'
  return [{ contract, port }, ...(secondPort === undefined ? [] : [{ contract: other, port: secondPort } as const])]
}

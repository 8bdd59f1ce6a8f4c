/** Builds the ports for clients: a listener and an HTTP application for each contract. */
import type { Access } from '../access/access.ts'
import type { AcceptedTokens } from '../cache/accepted-tokens.ts'
import type { CallerRights } from '../cache/caller-rights.ts'
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
import type { CreateContract } from '../http/contract.ts'
import { tokenIssuer } from '../http/credentials.ts'
import { createHttp, type FindRead, type Http, type ResolveUrl } from '../http/index.ts'
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

export type Fronts = Awaited<ReturnType<typeof buildFronts>>

interface FrontParts extends Base {
  readonly access: Access
  readonly cluster: Cluster
  readonly kindOf: KindOf
  readonly handler: Handler
  readonly acceptedTokens: AcceptedTokens | undefined
  readonly callerRights: CallerRights | undefined
}

interface FrontSettings {
  readonly contract: Contract
  readonly port: number
}

/** Rejects with an `Error` for the operator if the certificate or a setting cannot be used. */
export async function buildFronts(parts: FrontParts) {
  const { settings, access, audit, cluster, shared, log, emit, traces, kindOf, handler, acceptedTokens, callerRights } =
    parts
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
          hasEnded: parts.endedTokens.hasEnded,
        })
      : access,
  }
  const contracts: Readonly<Record<Contract, CreateContract>> = {
    v3: v3Contract(catalogue),
    v4: v4Contract({
      catalogue: usesManagerUsers ? withManagerUsers(v4Records) : v4Records,
      release: () => cluster.view.lowestRelease?.(),
    }),
  }
  /** Returns a signed token for a user of the edge. */
  let issueToken = async (_name: string): Promise<string> => ''
  const bodies = new BodyBudget(() => {
    const { limits, timeouts } = current().listen
    return { upload: limits.upload, timeout: timeouts.body }
  })
  const createFront = async ({ contract, port }: FrontSettings): Promise<Front> => {
    const form = contract === 'v4' && { rejectionForm: problemForm }
    const methodsAt = (url: string) => http.methodsAt(url)
    const cors = listen.cors.origins.length > 0
    const listener = await createListener({ ...listen, cors, log, onReject, methodsAt, ...form })
    const http = await createHttp({
      contract: contracts[contract],
      handle: handler,
      observe: emit.request,
      onRejected: audit.onRejected,
      ...(traces && { beginTrace: createTraceStarter(derive, traces) }),
      recordStages: parts.events.beginStages,
      server: listener.fastify,
      log,
      bodies,
      settings: current,
      clientAddress: addressOf,
      isAddressKnown: isKnown,
      ...(usesManagerUsers &&
        callerRights && { refusalByRights: (caller, to) => callerRights.refusalOf(caller, rightsNeeded(to)) }),
      managerVersion: () => kindOf(cluster.view).clientVersion(cluster.view),
      authentication: async (instance) => {
        const authenticator = await createAuthenticator(instance, accessOf[contract], rateLimits, shared?.count)
        if (!usesManagerUsers) issueToken = tokenIssuer(instance, access)
        return authenticator
      },
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
  const v4 = all.find(({ contract }) => contract === 'v4')
  const findV4Read: FindRead = (read, caller) => v4?.findRead(read, caller)
  return { all, resolveUrl: resolverOf(all), findV4Read, issueToken }
}

/**
 * Resolves the name of a URL at the port of its contract. Throws 604 if there is none, or the caller may not use it: in mode
 * passthrough, the credentials of a caller are those of one contract, and so are its stored responses.
 */
function resolverOf(fronts: readonly Front[]): ResolveUrl {
  return (name, caller) => {
    const { contract, path } = parseName(name)
    const front = fronts.find((each) => each.contract === contract)
    if (front === undefined) throw new EdgeError(604, `. No port of this edge serves the ${contract} contract`)
    const ofOther = contract === 'v4' ? caller.credentials : caller.nodeToken
    if (ofOther !== undefined) throw new EdgeError(604, `. Explain this url at the port of the ${contract} contract`)
    try {
      return front.resolveUrl(path, caller)
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

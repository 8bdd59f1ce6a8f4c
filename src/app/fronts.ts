/** Builds the ports for clients: a listener and an HTTP application for each contract. */

import type { Access } from '../access/access.ts'
import type { Config } from '../config/schema.ts'
import type { Contract } from '../contracts/endpoint.ts'
import { rightsNeeded } from '../contracts/v4/index.ts'
import type { Handler } from '../core/request.ts'
import { createAuthenticator } from '../http/authenticator.ts'
import { BodyBudget } from '../http/body-budget.ts'
import { addressOfRequests, clientAddress } from '../http/client-address.ts'
import { methodsAt } from '../http/contract.ts'
import { createHttp, type Http, type HttpOptions } from '../http/index.ts'
import { rateLimitsOf } from '../http/rate-limit.ts'
import { rejectionReporter } from '../http/report-requests.ts'
import { problemForm } from '../http/v4/problem.ts'
import { createListener, type Listener } from '../listener/listener.ts'
import type { Cluster } from '../upstream/index.ts'
import type { KindOf } from '../upstream/kinds.ts'
import { type Base, createTraceStarter } from './base.ts'
import type { BuiltCache } from './cache.ts'
import { type PortSettings, portsOf, type ServedContracts } from './contracts.ts'
import { checkTokensAtNode } from './manager-tokens.ts'

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
  readonly served: ServedContracts
  readonly handler: Handler
  readonly cache: Pick<BuiltCache, 'acceptedTokens' | 'callerRights'>
  readonly addPlugins: NonNullable<HttpOptions['plugins']>
}

type FrontBase = Pick<
  Base,
  'settings' | 'audit' | 'shared' | 'countRequest' | 'log' | 'events' | 'traces' | 'endedTokens'
>

/** Rejects with an `Error` for the operator if the certificate or a setting cannot be used. */
export async function buildFronts(base: FrontBase, parts: FrontParts): Promise<readonly Front[]> {
  const { settings, audit, countRequest, log, events, traces } = base
  const { emit } = events
  const { cluster, kindOf } = parts
  const { callerRights } = parts.cache
  const { current, derive, initial } = settings
  const addressOf = addressOfRequests(
    derive(({ listen }) => clientAddress(listen.trustedProxies)),
    (fields) => log.warn(fields, 'client address not readable: the client counts as the proxy'),
  )
  const rateLimits = rateLimitsOf(derive)
  const accessOf = accessOfContracts(base, parts)
  const bodies = new BodyBudget(() => {
    const { limits, timeouts } = current().listen
    return { upload: limits.upload, timeout: timeouts.body }
  })
  const common: Omit<HttpOptions, 'contract' | 'server' | 'authentication'> = {
    handle: parts.handler,
    observe: emit.request,
    onRejected: audit.onRejected,
    ...(traces && { beginTrace: createTraceStarter(derive, traces) }),
    recordStages: events.beginStages,
    log,
    bodies,
    settings: current,
    clientAddress: addressOf,
    ...(callerRights && { refusalByRights: (caller, to) => callerRights.refusalOf(caller, rightsNeeded(to)) }),
    managerVersion: () => kindOf(cluster.view).clientVersion(cluster.view),
    plugins: parts.addPlugins,
  }
  const createFront = async ({ contract, port }: PortSettings): Promise<Front> => {
    const served = parts.served.get(contract)
    if (served === undefined) throw new Error(`the ${contract} contract is not built`)
    const listener = await createListener({
      ...initial.listen,
      cors: initial.listen.cors.origins.length > 0,
      log,
      onReject: rejectionReporter(addressOf, emit.request),
      methodsAt: (url) => methodsAt(served, url),
      ...(contract === 'v4' && { rejectionForm: problemForm }),
    })
    const http = await createHttp({
      ...common,
      contract: served,
      server: listener.fastify,
      authentication: (app) => createAuthenticator(app, accessOf[contract], rateLimits, countRequest),
    })
    return { ...http, listener, port, contract }
  }
  /** The first one is that of `listen.port`. */
  const all: readonly Front[] = await Promise.all(portsOf(initial.listen).map(createFront))
  settings.onReload((next) => prepareReloads(all, next.listen))
  return all
}

/** Resolves with what applies the settings of the listeners to all ports at once. */
async function prepareReloads(fronts: readonly Front[], listen: Config['listen']): Promise<() => void> {
  const reloads = await Promise.all(fronts.map(({ listener }) => listener.prepareReload(listen)))
  return () => {
    for (const apply of reloads) apply()
    for (const { forgetUrls } of fronts) forgetUrls()
  }
}

/** In mode passthrough, clients of the v4 contract have tokens of the manager. */
function accessOfContracts(
  { settings: { initial, derive }, shared, endedTokens }: Pick<Base, 'settings' | 'shared' | 'endedTokens'>,
  { access, cluster, cache: { acceptedTokens } }: Pick<FrontParts, 'access' | 'cluster' | 'cache'>,
): Readonly<Record<Contract, Access>> {
  if (initial.cluster.credentials.mode !== 'passthrough') return { v3: access, v4: access }
  const v4 = checkTokensAtNode(access, {
    cluster,
    accepted: acceptedTokens,
    timeout: derive((config) => config.cluster.limits.timeout),
    failedLogins: derive((config) => config.access.limits.failedLogins),
    counters: shared?.counters,
    hasEnded: endedTokens.hasEnded,
  })
  return { v3: access, v4 }
}

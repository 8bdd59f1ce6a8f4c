/** Builds the pipeline, and the ports for clients in front of it; and the OpenAPI documents of the two contracts. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Access } from '../access/access.ts'
import { createTokenOperations } from '../access/index.ts'
import type { Server } from '../admin/openapi/document.ts'
import { cacheOperations } from '../cache/operations.ts'
import { type ShareReads, shareReads } from '../cache/shared-reads.ts'
import { refuseWritesInTrial } from '../cache/trial.ts'
import type { Contract } from '../catalogue/endpoint.ts'
import { catalogue } from '../catalogue/index.ts'
import { newerContract } from '../catalogue/newer-contract/index.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { Config } from '../config/schema.ts'
import { etagOf } from '../core/envelope.ts'
import { jsonInTurns } from '../core/long-values.ts'
import { type EdgeRead, type Handler, nameOf } from '../core/request.ts'
import { type EnvelopeResponse, envelopeOfStored, NEVER_STALE, StoredForms } from '../core/response.ts'
import type { RecordStages } from '../core/trace.ts'
import { NO_FLAGS } from '../http/edge-request.ts'
import { buildPipeline } from '../pipeline.ts'
import { preferencesOf, represent } from '../representation/represent.ts'
import type { Cluster } from '../upstream/index.ts'
import { createKinds } from '../upstream/kinds.ts'
import { issueManagerToken } from './access.ts'
import type { Base } from './base.ts'
import { buildCache } from './cache.ts'
import { buildNodeStages } from './cluster.ts'
import { buildFronts, type Fronts, portsOf, servesNewerContract } from './fronts.ts'
import { version } from './process.ts'

export interface ApiParts extends Base {
  readonly access: Access
  readonly cluster: Cluster
  readonly recordStages: RecordStages
}

export type Api = Awaited<ReturnType<typeof buildApi>>

/** Rejects with an `Error` for the operator if the certificate or a setting cannot be used. */
export async function buildApi(parts: ApiParts) {
  const { settings, access, cluster, audit } = parts
  const { initial, current } = settings
  // The pipeline needs tokens and URLs of the HTTP applications, which need the pipeline.
  let fronts: Fronts | undefined
  const ofFronts = (): Fronts => {
    if (fronts === undefined) throw new Error('the HTTP applications are not created yet')
    return fronts
  }
  const kindOf = createKinds(initial.cluster.distribution)
  const cache = await buildCache(parts, kindOf, async (url, caller) => ofFronts().resolveUrl(url, caller))
  const description = createApiDescription(settings)
  // Only users of the edge share an account, and so the responses to it.
  const sharesReads = initial.listen.secondPort !== undefined && initial.cluster.credentials.mode === 'service'
  const resolveTarget = sharesReads ? cache.ports.explained?.resolveTarget : undefined
  const share =
    resolveTarget &&
    ((read: Handler<EdgeRead>): ShareReads =>
      shareReads({
        read,
        call: cluster.call,
        resolveTarget,
        resolveUrl: (url, caller) => ofFronts().resolveUrl(nameOf({ contract: 'newer', path: url }), caller),
        master: () => cluster.view.master().name,
      }))
  const handler = buildPipeline({
    audit: audit.stage,
    operations: {
      ...createTokenOperations({
        issue: (request) =>
          request.caller.credentials === undefined
            ? ofFronts().issueToken(request.caller.name)
            : issueManagerToken(request, {
                cluster,
                accepted: cache.acceptedTokens,
                timeout: current().cluster.limits.timeout,
              }),
        revoke: (caller) => access.revokeTokens(caller),
      }),
      ...cacheOperations(cache.ports),
      describeApi: description.classic.handler,
      describeNewerApi: description.newer.handler,
    },
    ...cache.stages,
    endTokens: parts.endedTokens.stage,
    ...buildNodeStages(parts, kindOf, { acquireWriteLock: cache.acquireWriteLock, share }),
    ...(initial.cache.trial && { refuseWrites: refuseWritesInTrial }),
  })
  const { acceptedTokens, callerRights, recheckPace } = cache
  fronts = await buildFronts({ ...parts, kindOf, handler, acceptedTokens, callerRights })
  const usesManagerTokens = initial.cluster.credentials.mode === 'passthrough' && servesNewerContract(initial.listen)
  return {
    /** The listeners for clients, with one contract each. The first one is that of `listen.port`. */
    fronts: fronts.all,
    /** The whole pipeline, for requests of the console in the name of a caller. */
    handler,
    cache: cache.ports,
    description,
    /** Absent: there is no cache store. */
    storeState: cache.state,
    acceptedTokens,
    /** Returns the milliseconds after which tokens of the manager's users are checked again. Absent: there are none. */
    recheckInterval: usesManagerTokens && recheckPace ? () => recheckPace.interval() : undefined,
    closeCache: cache.close,
  }
}

/** Each document is built at its first use and then stays in memory. */
function createApiDescription({ initial, current }: ReloadableConfig) {
  const describe = (build: () => Promise<object>) => {
    const get = describeOnce(build)
    const handler: Handler = async () => (await get()).response
    return {
      /** Answers the request for the document at the listeners for clients. */
      handler,
      document: async () => (await get()).document,
      /** Returns the same response for another listener. */
      represent: async (headers: IncomingHttpHeaders) =>
        represent((await get()).response, preferencesOf(headers, NO_FLAGS, current().cache.compressionMinBytes)),
    }
  }
  // Loaded here: at start, nothing needs the schemas and examples.
  return {
    classic: describe(async () => {
      const { openApiDocument } = await import('../admin/openapi/document.ts')
      return openApiDocument(catalogue, { version, server: serverOf(initial.listen, 'classic') })
    }),
    newer: describe(async () => {
      const { newerOpenApiDocument } = await import('../admin/openapi/newer-document.ts')
      return newerOpenApiDocument(newerContract, { version, server: serverOf(initial.listen, 'newer') })
    }),
  }
}

/**
 * Returns the address of the port with this contract: each listener has both documents, also that of operators. The host is a
 * variable, because clients may reach the edge under another name.
 */
function serverOf(listen: Config['listen'], contract: Contract): Server | string {
  const port = portsOf(listen).find((each) => each.contract === contract)?.port
  if (port === undefined) return '/'
  const own = listen.host.includes(':') ? `[${listen.host}]` : listen.host
  const host = listen.hosts[0] ?? (WILDCARDS.has(listen.host) ? 'edge.example' : own)
  const description = 'The name or address under which clients reach the edge.'
  const scheme = listen.tls === undefined ? 'http' : 'https'
  return { url: `${scheme}://{host}:${port}`, variables: { host: { default: host, description } } }
}

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

function describeOnce(build: () => Promise<object>) {
  const describe = async () => {
    const document = await build()
    return { document, response: await responseOf(await jsonInTurns(document)) }
  }
  let built: ReturnType<typeof describe> | undefined
  return () => {
    built ??= describe()
    return built
  }
}

/** The document changes with the version of the edge only, so clients may store and revalidate it. */
async function responseOf(body: Buffer): Promise<EnvelopeResponse> {
  const content = { kind: 'response', status: 200, errorNumber: 0, contentType: '', body, clusterStatus: '' } as const
  const times = { ttl: 0, ...NEVER_STALE, fetchTime: 0 }
  const response = { ...content, ...times, etag: await etagOf(body), forms: new StoredForms() }
  return envelopeOfStored({ kind: 'stored', response, age: 0, status: { fwd: 'bypass' } })
}

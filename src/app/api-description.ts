/** The OpenAPI documents of the two contracts. Each is built at its first use and then stays in memory. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Server } from '../admin/openapi/document.ts'
import type { Contract } from '../catalogue/endpoint.ts'
import { catalogue } from '../catalogue/index.ts'
import { newerContract } from '../catalogue/newer-contract/index.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { Config } from '../config/schema.ts'
import { etagOf } from '../core/envelope.ts'
import type { Handler } from '../core/request.ts'
import type { EnvelopeResponse } from '../core/response.ts'
import { StoredForms } from '../core/stored-forms.ts'
import { NO_FLAGS } from '../http/edge-request.ts'
import { preferencesOf, represent } from '../representation/represent.ts'
import { portsOf } from './fronts.ts'
import { version } from './process.ts'

export function createApiDescription({ initial, current }: ReloadableConfig) {
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
    return { document, response: responseOf(Buffer.from(JSON.stringify(document))) }
  }
  let built: ReturnType<typeof describe> | undefined
  return () => {
    built ??= describe()
    return built
  }
}

/** The document changes with the version of the edge only, so clients may store and revalidate it. */
function responseOf(body: Buffer): EnvelopeResponse {
  const times = { age: 0, ttl: 0, staleWhileRevalidate: 0, staleIfError: 0, fetchTime: 0 }
  const response = { status: 200, body, etag: etagOf(body), forms: new StoredForms(), ...times }
  const origin = { kind: 'stored', response, status: { fwd: 'bypass' } } as const
  return { kind: 'envelope', status: 200, body, errorNumber: 0, origin }
}

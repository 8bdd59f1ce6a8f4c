/** The OpenAPI documents of the two contracts. Each is built at its first use and then stays in memory. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Contract } from '../catalogue/endpoint.ts'
import { catalogue } from '../catalogue/index.ts'
import { newerContract } from '../catalogue/newer-contract/index.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import { etagOf } from '../core/envelope.ts'
import type { Handler } from '../core/request.ts'
import type { EnvelopeResponse } from '../core/response.ts'
import { StoredForms } from '../core/stored-forms.ts'
import { NO_FLAGS } from '../http/parameters.ts'
import { preferencesOf, type Representation, represent } from '../representation/represent.ts'
import { version } from './process.ts'

export interface DescribedContract {
  /** Answers the request for the document at the listeners for clients. */
  readonly handler: Handler
  readonly document: () => Promise<object>
  /** Returns the same response for another listener. */
  readonly represent: (headers: IncomingHttpHeaders) => Promise<Representation>
}

export type ApiDescription = Readonly<Record<Contract, DescribedContract>>

interface Description {
  readonly document: object
  readonly response: EnvelopeResponse
}

export function createApiDescription(current: ReloadableConfig['current']): ApiDescription {
  const describe = (build: () => Promise<object>): DescribedContract => {
    const get = describeOnce(build)
    return {
      handler: async () => (await get()).response,
      document: async () => (await get()).document,
      represent: async (headers) =>
        represent((await get()).response, preferencesOf(headers, NO_FLAGS, current().cache.compressionMinBytes)),
    }
  }
  // Loaded here: at start, nothing needs the schemas and examples.
  return {
    classic: describe(async () => {
      const { openApiDocument } = await import('../admin/openapi/document.ts')
      return openApiDocument(catalogue, { version })
    }),
    newer: describe(async () => {
      const { newerOpenApiDocument } = await import('../admin/openapi/newer-document.ts')
      return newerOpenApiDocument(newerContract, { version })
    }),
  }
}

function describeOnce(build: () => Promise<object>): () => Promise<Description> {
  let built: Promise<Description> | undefined
  return () => {
    built ??= build().then((document) => ({ document, response: responseOf(Buffer.from(JSON.stringify(document))) }))
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

/** Body parsers, by media type. A record that takes no body has what came with it read and dropped. */
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { EdgeError } from '../core/errors.ts'
import { typedFields } from './canonical.ts'
import { bodyType, isEncoded } from './content-type.ts'
import { parseParameters } from './parameters.ts'
import { parseStrictJson } from './strict-json.ts'
import { checkList, checkXml } from './upload.ts'

/** More form fields than these end the API process of the real manager (contract, semantics.md section 1). */
const FORM_FIELDS = { count: 1000, tooMany: 607 } as const

type Parse = (endpoint: Endpoint, bytes: Buffer) => unknown

const parsers: Readonly<Record<string, Parse>> = {
  'application/json': (_endpoint, bytes) => parseStrictJson(bytes),
  'application/x-www-form-urlencoded': (endpoint, bytes) => {
    // Else what is no text would arrive as another one.
    if (!isUtf8(bytes)) throw new EdgeError(614, ' The body is not UTF-8.')
    return typedFields(endpoint, parseParameters(bytes.toString('utf8'), FORM_FIELDS))
  },
  'application/xml': async (_endpoint, bytes) => {
    await checkXml(bytes)
    return bytes
  },
  'application/octet-stream': async (_endpoint, bytes) => {
    await checkList(bytes)
    return bytes
  },
}

export function registerBodyParsers(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: FastifyRequest, bytes: Buffer) => {
    const endpoint = request.routeOptions.config.endpoint
    return endpoint !== undefined && hasBody(endpoint) ? parsers[plainType(request)]?.(endpoint, bytes) : undefined
  })
  // A request without any body has no parser run; an upload needs its refusal all the same.
  app.addHook('preValidation', async (request) => {
    const endpoint = request.routeOptions.config.endpoint
    if (endpoint !== undefined && hasBody(endpoint) && request.body === undefined) {
      request.body = await (parsers[plainType(request)] ?? (() => ({})))(endpoint, Buffer.alloc(0))
    }
  })
}

function hasBody(endpoint: Endpoint): boolean {
  return 'body' in endpoint && endpoint.body !== undefined
}

function plainType(request: FastifyRequest): string {
  return request.headers['content-type'] ?? ''
}

/** Leaves only the plain media type in the header, or refuses. Only a POST must declare one (contract, semantics.md 1). */
export function checkBodyType(request: FastifyRequest, endpoint: Endpoint): void {
  const body = 'body' in endpoint ? endpoint.body : undefined
  if (body === undefined) {
    if (isEncoded(request.headers)) throw new EdgeError(607)
    return
  }
  const { headers } = request
  const bodyless = headers['content-type'] === undefined && Number(headers['content-length'] ?? 0) === 0
  if (endpoint.method !== 'POST' && bodyless && headers['transfer-encoding'] === undefined) return
  headers['content-type'] = bodyType(headers, body)
}

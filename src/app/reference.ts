/** The OpenAPI documents of both contracts: the files of the build, with the address of the port for clients. */

import { readFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import type { Config } from '../config/schema.ts'
import type { Contract } from '../contracts/endpoint.ts'
import { etagOf } from '../core/envelope.ts'
import { EdgeError } from '../core/errors.ts'
import { envelopeOfStored } from '../core/origins.ts'
import type { Handler } from '../core/request.ts'
import type { EnvelopeResponse } from '../core/response.ts'
import { NEVER_STALE, StoredForms } from '../core/stored-response.ts'
import { NO_FLAGS } from '../http/parameters.ts'
import { represent } from '../representation/represent.ts'
import { portsOf } from './contracts.ts'

export type Descriptions = ReturnType<typeof readDescriptions>

/** What the build writes where the document of an edge has its own address. */
const SERVERS = '"servers":[{"url":"/"}]'

/**
 * Each document is read at its first use and then stays in memory. `folder`: of the files, undefined if this installation leaves
 * them out.
 */
export function readDescriptions(listen: Config['listen'], folder: string | undefined) {
  const describe = (file: string, contract: Contract) => {
    const get = once(async () => {
      if (folder === undefined) throw new EdgeError(603)
      const servers = JSON.stringify([serverOf(listen, contract)])
      const text = await readFile(join(folder, file), 'utf8')
      return responseOf(Buffer.from(text.replace(SERVERS, () => `"servers":${servers}`)))
    })
    const handler: Handler = get
    return {
      /** Answers the request for the document at the listeners for clients. */
      handler,
      /** Returns the same response for another listener. */
      represent: async (headers: IncomingHttpHeaders) => represent(await get(), headers, NO_FLAGS),
    }
  }
  return { v3: describe('openapi.json', 'v3'), v4: describe('openapi-v4.json', 'v4') }
}

/**
 * Returns the address of the port with this contract: each listener has both documents, also that of operators. The host is a
 * variable, because clients may reach the edge under another name.
 */
function serverOf(listen: Config['listen'], contract: Contract): object {
  const port = portsOf(listen).find((each) => each.contract === contract)?.port
  if (port === undefined) return { url: '/' }
  const own = listen.host.includes(':') ? `[${listen.host}]` : listen.host
  const host = listen.hosts[0] ?? (WILDCARDS.has(listen.host) ? 'edge.example' : own)
  const description = 'The name or address under which clients reach the edge.'
  const scheme = listen.tls === undefined ? 'http' : 'https'
  return { url: `${scheme}://{host}:${port}`, variables: { host: { default: host, description } } }
}

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let value: Promise<Value> | undefined
  return () => {
    value ??= read()
    return value
  }
}

/** The document changes with the version of the edge only, so clients may store and revalidate it. */
async function responseOf(body: Buffer): Promise<EnvelopeResponse> {
  const content = { kind: 'response', status: 200, errorNumber: 0, contentType: '', body, clusterStatus: '' } as const
  const times = { ttl: 0, ...NEVER_STALE, fetchTime: 0 }
  const response = { ...content, ...times, etag: await etagOf(body), forms: new StoredForms() }
  return envelopeOfStored({ kind: 'stored', response, age: 0, status: { fwd: 'bypass' } })
}

/** The transport over HTTP: one path, with a bearer secret, and checks of `Host` and `Origin` against pages of other sites. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'

export interface HttpOptions {
  readonly host: string
  readonly port: number
  readonly secret: string
  /** Names under which clients reach the server, besides those of loopback. */
  readonly allowedHosts: readonly string[]
  /** Origins of pages that may call; empty: none. */
  readonly allowedOrigins: readonly string[]
  readonly createServer: () => Server
}

export interface Listening {
  readonly url: string
  close(): Promise<void>
}

export const PATH = '/mcp'
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']
const MAX_BODY_BYTES = 1024 * 1024

export async function serveHttp(options: HttpOptions): Promise<Listening> {
  const server = createHttpServer((request, response) => {
    const refusal = refusalOf(request, options)
    if (refusal !== undefined) return refuse(response, refusal)
    answer(request, response, options).catch(() => {
      if (response.headersSent) response.destroy()
      else refuse(response, { status: 400, message: 'The request is no message of the protocol.' })
    })
  })
  server.listen(options.port, options.host)
  await once(server, 'listening')
  const { address, port, family } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}${PATH}`,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

interface Refusal {
  readonly status: number
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A page of another site can reach loopback through its own name (DNS rebinding), so the name is checked first. */
function refusalOf({ headers, url = '', method = '' }: IncomingMessage, options: HttpOptions): Refusal | undefined {
  const { host = '', origin, authorization = '' } = headers
  const name = host.replace(/:\d+$/, '').toLowerCase()
  if (![...LOOPBACK, ...options.allowedHosts].includes(name))
    return { status: 403, message: 'This host name is not allowed. Name it with --allow-host.' }
  if (origin !== undefined && !options.allowedOrigins.includes(origin))
    return { status: 403, message: 'This origin is not allowed. Name it with --allow-origin.' }
  const bearer = /^Bearer (\S+)$/i.exec(authorization)?.[1] ?? ''
  if (!isEqual(bearer, options.secret))
    return {
      status: 401,
      message: 'Send the secret of --secret-file as "Authorization: Bearer SECRET".',
      headers: { 'www-authenticate': 'Bearer' },
    }
  if (url.split('?')[0] !== PATH) return { status: 404, message: `The only path is ${PATH}.` }
  if (method !== 'POST') return { status: 405, message: 'Only POST is served.', headers: { allow: 'POST' } }
  return undefined
}

/** Digests have the same length, so the comparison takes the same time for each text. */
function isEqual(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

function refuse(response: ServerResponse, { status, message, headers }: Refusal): void {
  response
    .writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close', ...headers })
    .end(`${message}\n`)
}

/** Each request has its own server; what waits for a confirmation is shared by all. */
async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { createServer }: HttpOptions,
): Promise<void> {
  const message = JSON.parse(await readBody(request))
  const server = createServer()
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  response.on('close', () => void server.close())
  await server.connect(transport as Parameters<Server['connect']>[0])
  await transport.handleRequest(request, response, message)
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) throw new Error('the body is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

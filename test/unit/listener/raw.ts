/** A listener with a small Fastify app behind it, and a client that writes bytes as they are. */
import { connect, type Socket } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import type { ListenerOptions } from '../../../src/listener/listener.ts'
import { createListener, type Listener } from '../../../src/listener/listener.ts'

type Tap = { teardown(fn: () => unknown): unknown }

export interface Served {
  readonly port: number
  readonly listener: Listener
  readonly app: FastifyInstance
  /** Requests that reached a handler, in order: `GET /x`. */
  readonly seen: string[]
  readonly log: string[]
}

export const SETTINGS = {
  limits: { headers: 16_384, url: 8192, pipelined: 100 },
  timeouts: { headers: 5000, body: 30_000, write: 30_000, expect: 10_000, idle: 72_000 },
  hosts: [],
}

/** `prepare` adds routes; the response to every other path is `{"error":0,"data":"<url>"}`. */
export async function serve(
  t: Tap,
  options: Partial<ListenerOptions> = {},
  prepare: (app: FastifyInstance) => void = () => undefined,
): Promise<Served> {
  const log: string[] = []
  const note = (_fields: object, message: string) => void log.push(message)
  const listener = await createListener({
    ...SETTINGS,
    cors: false,
    interval: 50,
    log: { info: note },
    ...options,
  })
  const app = Fastify({ ...listener.fastify, exposeHeadRoutes: false, return503OnClosing: false })
  const seen: string[] = []
  app.addHook('preHandler', async (request) => void seen.push(`${request.method} ${request.url}`))
  prepare(app)
  app.route({
    method: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
    url: '/*',
    handler: async (request) => ({ error: 0, data: request.url }),
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => {
    for (const server of listener.servers) server.closeAllConnections()
    return app.close()
  })
  const address = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening')
  return { port: address.port, listener, app, seen, log }
}

export interface Exchange {
  readonly text: string
  /** The other side ended the connection, without a reset. */
  readonly ended: boolean
  readonly reset: boolean
  readonly milliseconds: number
}

/** Only a test that fails waits this long for the next byte. */
const PATIENCE_MS = 30_000

/**
 * Writes the bytes, and reads until the connection ends. `responses`: ends after this number of complete responses, for
 * connections that stay open.
 */
export function exchange(
  port: number,
  bytes: string | Buffer,
  responses = Number.POSITIVE_INFINITY,
): Promise<Exchange> {
  const started = performance.now()
  return new Promise((resolve) => {
    const socket: Socket = connect(port, '127.0.0.1')
    const chunks: Buffer[] = []
    let reset = false
    const done = (ended: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      const text = Buffer.concat(chunks).toString('latin1')
      resolve({ text, ended, reset, milliseconds: performance.now() - started })
    }
    let timer = setTimeout(() => done(false), PATIENCE_MS)
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      clearTimeout(timer)
      timer = setTimeout(() => done(false), PATIENCE_MS)
      if (hasResponses(Buffer.concat(chunks).toString('latin1'), responses)) done(false)
    })
    socket.on('error', () => {
      reset = true
    })
    socket.on('end', () => done(true))
    socket.on('close', () => done(true))
    socket.write(bytes)
  })
}

/** Returns whether the text contains `count` responses, the last of which is complete. */
function hasResponses(text: string, count: number): boolean {
  const heads = [...text.matchAll(/HTTP\/1\.1 [2-5]\d\d.*?\r\n\r\n/gs)]
  const last = heads.at(-1)
  if (last === undefined || heads.length < count) return false
  const [, length = '0'] = /content-length: (\d+)/i.exec(last[0]) ?? []
  return text.length >= last.index + last[0].length + Number(length)
}

/** Returns the statuses of all responses. */
export function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1]))
}

/** Returns the JSON body of the last response. */
export function lastBody(text: string): { error?: unknown; message?: unknown } {
  const start = text.lastIndexOf('\r\n\r\n')
  return JSON.parse(text.slice(start + 4) || '{}')
}

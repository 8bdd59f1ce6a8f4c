/**
 * A process in place of the manager. Each agent has a register, which every write increments. Like a real manager of the
 * v3 layout, it caches each GET by its URL alone for 750 ms, unless the header `x-apicache-bypass` is set.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type FromUpstream, type UpstreamAction, type UpstreamBehavior, VALUE_PATH } from './processes.ts'
import { answerV4 } from './v4-upstream.ts'

const CACHE_TTL_MS = 750

const registers = new Map<string, number>()
const cached = new Map<string, { readonly text: string; readonly until: number }>()
let behaviour: UpstreamBehavior = { delay: 0, heedsBypass: true }
/** Values that writes have returned, by their path. */
const written = new Map<string, number>()
let calls = 0
let byPath: Record<string, number> = {}
let inFlight = 0
/** Reads and writes of registers in their order. Absent: they are not recorded. */
let actions: UpstreamAction[] | undefined
let maxConcurrent = 0

function act(request: IncomingMessage): string {
  const path = request.url?.split('?')[0] ?? ''
  const agent = /^\/agents\/(\d+)/.exec(path)?.[1]
  if (agent === undefined) {
    const { searchParams } = new URL(request.url ?? '/', 'http://upstream')
    const offset = Number(searchParams.get('offset') ?? 0)
    const rows = [...registers].map(row).slice(offset, offset + Number(searchParams.get('limit') ?? 500))
    return envelope({ items: rows, totalItems: registers.size })
  }
  const isWrite = request.method !== 'GET'
  const value = (registers.get(agent) ?? 0) + (isWrite ? 1 : 0)
  const at = performance.timeOrigin + performance.now()
  actions?.push({ at, path, value, id: String(request.headers['x-request-id']) })
  if (!isWrite) return envelope(row([agent, value]))
  registers.set(agent, value)
  return envelope(`Group added to agent ${agent}: value ${value}`)
}

function row([id, value]: readonly [string, number]): object {
  const padding = behaviour.padding === undefined ? {} : { padding: 'x'.repeat(behaviour.padding) }
  return { id, name: `agent-${id}`, value, ...padding }
}

function envelope(data: unknown): string {
  return JSON.stringify({ error: 0, data })
}

function answer(request: IncomingMessage): string {
  const bypass = behaviour.heedsBypass && request.headers['x-apicache-bypass'] !== undefined
  if (request.method !== 'GET' || bypass) return act(request)
  const url = request.url ?? ''
  const known = cached.get(url)
  if (known !== undefined && known.until > performance.now()) return known.text
  const text = act(request)
  cached.set(url, { text, until: performance.now() + CACHE_TTL_MS })
  return text
}

const layout = process.argv[3]

/** Returns status, media type and text of the response. */
function respond(request: IncomingMessage): { status: number; type: string; text: string } {
  const { method = 'GET' } = request
  const url = new URL(request.url ?? '/', 'http://upstream')
  const { pathname, searchParams } = url
  if (pathname === VALUE_PATH)
    return { ...JSON_RESPONSE, text: String(written.get(searchParams.get('path') ?? '') ?? 0) }
  if (layout !== 'v4') return { ...JSON_RESPONSE, text: answer(request) }
  const id = String(request.headers['x-request-id'])
  return answerV4(
    method,
    url,
    {
      values: registers,
      increment: (agent) => {
        const value = (registers.get(agent) ?? 0) + 1
        registers.set(agent, value)
        written.set(pathname, value)
        return value
      },
    },
    (agent, value) => {
      const path = method === 'GET' ? `/agents/${agent}` : pathname
      actions?.push({ at: performance.timeOrigin + performance.now(), path, value, id })
    },
  )
}

const JSON_RESPONSE = { status: 200, type: 'application/json; charset=utf-8' }

const later = (time: number): Promise<void> =>
  time === 0 ? Promise.resolve() : new Promise((done) => setTimeout(done, time))

const answerRequest: RequestListener = (request, response) => {
  calls += 1
  const name = `${request.method} ${request.url?.split('?')[0]}`
  byPath[name] = (byPath[name] ?? 0) + 1
  inFlight += 1
  maxConcurrent = Math.max(maxConcurrent, inFlight)
  request.resume()
  // A part of the delay passes before the action and a part after it, like the transport of request and response.
  const slow = request.url?.split('?')[0]?.endsWith(behaviour.slow?.path ?? '/') ? (behaviour.slow?.ms ?? 0) : 0
  void later(slow + (behaviour.steady ?? 0) + Math.random() * behaviour.delay)
    .then(() => {
      const { status, type, text } = respond(request)
      const held = request.method === 'GET' ? (behaviour.held ?? 0) : 0
      return later(held + Math.random() * behaviour.delay).then(() => {
        if (behaviour.status !== undefined) response.writeHead(behaviour.status).end()
        else response.writeHead(status, { 'content-type': type }).end(text)
      })
    })
    .finally(() => {
      inFlight -= 1
    })
}

const send = (message: FromUpstream): void => void process.send?.(message)

process.on('message', (message: UpstreamBehavior | 'report' | 'record') => {
  if (message === 'record') {
    send({ actions: actions ?? [] })
    actions = []
    return
  }
  if (message !== 'report') {
    behaviour = message
    return
  }
  send({ calls, byPath, maxConcurrent })
  calls = 0
  byPath = {}
  maxConcurrent = inFlight
})
// The test has ended or crashed: this process must not outlive it.
process.on('disconnect', () => process.exit())
// Nodes of one cluster: they share the registers.
const servers = Array.from({ length: Number(process.argv[2] ?? 1) }, () => createServer(answerRequest))
await Promise.all(servers.map(async (server) => void (await once(server.listen(0, '127.0.0.1'), 'listening'))))
send({ ports: servers.map((server) => (server.address() as AddressInfo).port) })

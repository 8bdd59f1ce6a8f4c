/** A node that answers as a row describes, byte by byte if need be, and records what it receives. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { bytesOf, messageOf } from './texts.ts'
import type { NodeAnswer, NodeRule, Rig } from './vocabulary.ts'

export interface NodeCall {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

export interface StubNode {
  readonly url: string
  readonly calls: readonly NodeCall[]
  /** Replaces the rules of all calls. */
  answer(rules: readonly NodeRule[]): void
  /** Sends the answers that are held, and holds no other. */
  release(): void
  /** Shows another certificate to later connections. */
  present(pair: { readonly cert: string; readonly key: string }): void
  close(): Promise<void>
}

interface Pair {
  readonly cert: string
  readonly key: string
}

/** To all calls without a rule, such as those that the edge sends for itself. */
const OTHERWISE: NodeAnswer = { body: '{"error":0,"data":"v3.11.4"}' }

export async function startStubNode(options: NonNullable<Rig['stub']>, pair?: Pair): Promise<StubNode> {
  const calls: NodeCall[] = []
  let rules: readonly NodeRule[] = []
  const asked = new Map<NodeRule, number>()
  const held: (() => Promise<void>)[] = []
  let isReleased = false
  const sockets = new Set<Socket>()
  const serve = (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    socket.setNoDelay(true)
    let buffered = Buffer.alloc(0)
    let timer: NodeJS.Timeout | undefined
    const ofConnection = new Map<NodeRule, number>()
    socket.on('close', () => clearTimeout(timer))
    socket.on('data', (chunk: Buffer) => {
      clearTimeout(timer)
      buffered = Buffer.concat([buffered, chunk])
      const request = readRequest(buffered)
      if (request === undefined) return
      buffered = Buffer.alloc(0)
      const { alpnProtocol } = socket as Partial<TLSSocket>
      if (typeof alpnProtocol === 'string') request.headers.alpn = alpnProtocol
      calls.push(request)
      const rule = rules.find(({ to }) => `${request.method} ${request.url}`.startsWith(to))
      const turn = rule === undefined ? 0 : (asked.get(rule) ?? 0)
      const ofThis = rule === undefined ? 0 : (ofConnection.get(rule) ?? 0) + 1
      if (rule !== undefined) {
        asked.set(rule, turn + 1)
        ofConnection.set(rule, ofThis)
        if (ofThis >= (rule.resetsFrom ?? Number.POSITIVE_INFINITY)) return void socket.resetAndDestroy()
        if (ofThis >= (rule.closesFrom ?? Number.POSITIVE_INFINITY)) return void socket.end()
      }
      const answer = rule?.answers?.[turn] ?? rule?.answers?.at(-1) ?? OTHERWISE
      const send = async () => {
        const message = await messageFor(answer)
        if (answer.end === undefined) socket.write(message)
        else if (answer.end === 'close') socket.end(message)
        else socket.write(message, () => socket.resetAndDestroy())
        if (rule?.closesIdleAfterMs !== undefined) timer = setTimeout(() => socket.end(), rule.closesIdleAfterMs)
      }
      if (answer.held && !isReleased) held.push(send)
      else if (answer.delayMs === undefined) void send()
      else timer = setTimeout(() => void send(), answer.delayMs)
    })
  }
  const isSecure = pair !== undefined
  const protocols = options.protocols === undefined ? {} : { ALPNProtocols: [...options.protocols] }
  const server = isSecure ? createTlsServer({ ...pair, ...protocols }, serve) : createServer(serve)
  server.on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `${isSecure ? 'https' : 'http'}://${options.host ?? '127.0.0.1'}:${port}`,
    calls,
    answer: (next) => {
      rules = next
      asked.clear()
      isReleased = false
    },
    release: () => {
      isReleased = true
      for (const send of held.splice(0)) void send()
    },
    present: (next) => {
      if (!('setSecureContext' in server)) throw new Error('this node has no certificate')
      server.setSecureContext(next)
      // The edge would stay on connections that it trusts already.
      for (const socket of sockets) socket.destroy()
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

const NO_VALUES = () => undefined

async function messageFor({ raw, status = 200, headers = {}, body = '' }: NodeAnswer): Promise<Buffer> {
  if (raw !== undefined) return messageOf(raw, NO_VALUES)
  const bytes = await bytesOf(body, NO_VALUES)
  const all = { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': String(bytes.length), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} Any\r\n${lines.join('')}\r\n`), bytes])
}

/** Returns the request if it is complete. The edge sends no second one before the response. */
function readRequest(bytes: Buffer) {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return
  const [line = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const [method = '', url = ''] = line.split(' ')
  const headers: Record<string, string> = Object.fromEntries(
    lines.map((header) => {
      const colon = header.indexOf(':')
      return [header.slice(0, colon).toLowerCase(), header.slice(colon + 1).trim()]
    }),
  )
  const length = Number(headers['content-length'] ?? 0)
  if (bytes.length < end + 4 + length) return
  return { method, url, headers, body: bytes.toString('utf8', end + 4, end + 4 + length) }
}

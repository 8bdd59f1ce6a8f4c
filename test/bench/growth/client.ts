/**
 * A client process of the measurements. It opens keep-alive connections, sends requests over all of them in turn, and
 * checks each response: its status, its length, `Cache-Status`, and that the body is the one of its URL. The parent sends
 * orders (`orders.ts`) and gets one reply for each.
 */
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { BODY_BYTES, markOf, URL_PREFIX } from './agents.ts'
import type { OpenOrder, Order, Reply, RunOrder } from './orders.ts'

/** Connections that are opened at the same time. */
const OPENING = 64
const END_OF_HEAD = '\r\n\r\n'

interface Pending {
  readonly entry: number
  done(): void
}

/** One connection with at most one request in flight. */
class Connection {
  pending: Pending | undefined
  readonly #socket: Socket
  readonly #onFault: (fault: string) => void
  #received = ''

  constructor(socket: Socket, onFault: (fault: string) => void) {
    this.#socket = socket
    this.#onFault = onFault
    socket.setNoDelay(true)
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => this.#read(chunk))
    socket.on('error', (error) => onFault(error.message))
    socket.on('close', () => {
      connections.delete(this)
      if (this.pending !== undefined) onFault('a connection was closed before its response')
    })
  }

  send(text: string, pending: Pending): void {
    this.pending = pending
    this.#socket.write(text)
  }

  close(): void {
    this.#socket.destroy()
  }

  #read(chunk: string): void {
    this.#received = this.#received === '' ? chunk : this.#received + chunk
    const end = this.#received.indexOf(END_OF_HEAD)
    if (end < 0) return
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(this.#received)?.[1])
    if (this.#received.length < end + END_OF_HEAD.length + length) return
    const response = this.#received
    this.#received = ''
    const { pending } = this
    this.pending = undefined
    const fault = pending === undefined ? 'no request' : faultOf(response, length, pending.entry)
    if (fault === undefined) pending?.done()
    else this.#onFault(`${fault}: ${response.slice(0, 600)}`)
  }
}

/** A prime number: entries in turn are all entries, and neighbours are not requested after each other. */
const STRIDE = 7919
let turn = 0

/** Those that are open. */
const connections = new Set<Connection>()
let cacheStatus = /./
/** Ends the present order with a fault. */
let onFault = (_: string): void => undefined

function faultOf(response: string, length: number, entry: number): string | undefined {
  if (!response.startsWith('HTTP/1.1 200 ')) return 'not the status 200'
  if (length !== BODY_BYTES || !response.includes(markOf(entry))) return `not the body of entry ${entry}`
  const status = /\r\ncache-status: ([^\r]*)/i.exec(response)?.[1] ?? ''
  return cacheStatus.test(status) ? undefined : `Cache-Status "${status}" instead of ${cacheStatus}`
}

/** Opens connections. Each one makes a request at once: an edge closes those that have made none within seconds. */
async function open({ port, tls, connections: count, authorization }: OpenOrder): Promise<Reply> {
  return new Promise((resolve) => {
    let started = 0
    onFault = (fault) => resolve({ ok: false, fault })
    const openNext = (): void => {
      if (connections.size === count) resolve({ ok: true, open: count })
      if (started === count) return
      started += 1
      const options = { port, host: '127.0.0.1' }
      const socket = tls ? connectTls({ ...options, rejectUnauthorized: false }) : connect(options)
      const connection = new Connection(socket, (fault) => onFault(fault))
      const done = () => {
        connections.add(connection)
        openNext()
      }
      socket.once(tls ? 'secureConnect' : 'connect', () =>
        connection.send(requestOf(0, authorization), { entry: 0, done }),
      )
    }
    for (let lane = 0; lane < Math.min(OPENING, count); lane++) openNext()
  })
}

const requestOf = (entry: number, authorization: string | undefined): string =>
  `GET ${URL_PREFIX}${entry} HTTP/1.1\r\nhost: edge\r\nauthorization: ${authorization}\r\n\r\n`

/** Sends requests until the number or the time is reached, each over the next connection that is free. */
async function run(order: RunOrder): Promise<Reply> {
  const {
    requests = Number.POSITIVE_INFINITY,
    ms = Number.POSITIVE_INFINITY,
    inFlight,
    entries,
    authorizations,
  } = order
  cacheStatus = new RegExp(order.cacheStatus)
  const lanes = [...connections]
  const latencies: number[] = []
  const begin = performance.now()
  let [sent, next, running] = [0, 0, 0]
  return new Promise((resolve) => {
    onFault = (fault) => resolve({ ok: false, fault })
    if (lanes.length === 0) onFault('no connection is open')
    const send = (): void => {
      const now = performance.now()
      if (sent === requests || now - begin >= ms) {
        if (running === 0) resolve({ ok: true, open: connections.size, ...figuresOf(latencies, now - begin) })
        return
      }
      let connection = lanes[next++ % lanes.length]
      while (connection?.pending !== undefined) connection = lanes[next++ % lanes.length]
      if (connection === undefined) return
      const entry = order.inTurn ? (turn++ * STRIDE) % entries : Math.floor(random() * entries)
      const authorization = authorizations[order.inTurn ? sent % authorizations.length : randomIndex(authorizations)]
      sent += 1
      running += 1
      const done = () => {
        running -= 1
        latencies.push(performance.now() - now)
        send()
      }
      connection.send(requestOf(entry, authorization), { entry, done })
    }
    for (let lane = 0; lane < Math.min(inFlight, lanes.length, requests); lane++) send()
  })
}

function figuresOf(latencies: number[], ms: number) {
  latencies.sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0
  return { responses: latencies.length, ms, p50: at(0.5), p99: at(0.99) }
}

const randomIndex = (list: readonly unknown[]): number => (list.length === 1 ? 0 : Math.floor(random() * list.length))

/** A linear congruential generator (Numerical Recipes): the same requests in each run. */
let state = 1
function random(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 2 ** 32
}

process.on('message', (order: Order) => {
  const reply = order.kind === 'open' ? open(order) : order.kind === 'run' ? run(order) : close()
  void reply.then((value) => process.send?.(value))
})
process.on('disconnect', () => process.exit(0))

async function close(): Promise<Reply> {
  for (const connection of connections) connection.close()
  return { ok: true, open: 0 }
}

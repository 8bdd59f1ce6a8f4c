/** A TCP proxy that injects faults between the edge and a node or Redis, or between a client and the edge. */

import type { AddressInfo, Socket } from 'node:net'
import net from 'node:net'
import { drawDelay, type Impairment, Lane } from './lane.ts'

export type Fault =
  | { readonly kind: 'pass' }
  /** Each direction of the link has its own impairment. Bytes keep their order, also when the impairment changes. */
  | { readonly kind: 'link'; readonly toTarget?: Impairment; readonly toClient?: Impairment }
  /** The response is sent one byte every `ms`. */
  | { readonly kind: 'drip'; readonly ms: number }
  /** Connections are accepted, but nothing is read or written. */
  | { readonly kind: 'stall' }
  /** RST at the first byte of the request. */
  | { readonly kind: 'reset' }
  /** The port is closed and open connections are reset. */
  | { readonly kind: 'refuse' }
  /** `after` bytes of the response, then FIN. */
  | { readonly kind: 'cut'; readonly after: number }
  /** FIN to the client after its request. The connection to the target stays open. */
  | { readonly kind: 'halfClose' }
  /**
   * FIN to the client on each open connection. The target does not learn that they are closed before another fault is
   * set: it still receives what the client sends, and its responses are discarded. Later connections work.
   */
  | { readonly kind: 'slowClose' }
  /** FIN in both directions after a response, if no request follows within a random time from `least` to `most` ms. */
  | { readonly kind: 'idleClose'; readonly least: number; readonly most: number }

export interface FaultProxy {
  readonly port: number
  /** Connections accepted so far. */
  accepted(): number
  /** Connections that `idleClose` closed so far. */
  idleCloses(): number
  /** Chunks received from either side so far. */
  received(): number
  /** Chunks that the present fault has delayed or lost, and connections that it has half-closed. */
  affected(): number
  /** Applies to open and to later connections. What a `link` has lost so far is delivered now. */
  set(fault: Fault): Promise<void>
  close(): Promise<void>
}

/** The proxy as its connections see it. */
interface ProxyState {
  fault: Fault
  idleCloses: number
  affected: number
  received: number
}

/** One connection of a client, and the connection to the target that belongs to it. */
class Connection {
  /** The target must not learn that the client has closed its side: `slowClose` has ended the connection, or a reset. */
  #isAbandoned = false
  readonly #state: ProxyState
  readonly #client: Socket
  readonly #target: Socket
  readonly #lanes = { toTarget: new Lane(), toClient: new Lane() }
  #sentBytes = 0
  #idle: NodeJS.Timeout | undefined

  constructor(state: ProxyState, client: Socket, target: Socket, onClose: () => void) {
    this.#state = state
    this.#client = client
    this.#target = target
    for (const socket of [client, target]) socket.on('error', () => undefined)
    if (state.fault.kind === 'stall') client.pause()
    client.on('data', (bytes) => this.#forwardRequest(bytes))
    client.on('end', () => this.#passOn('toTarget', () => target.end()))
    client.on('close', () => {
      clearTimeout(this.#idle)
      this.#lanes.toClient.clear()
      if (state.fault.kind === 'stall') target.destroy()
      else this.#passOn('toTarget', () => target.destroy())
    })
    target.on('data', (bytes) => this.#forwardResponse(bytes))
    target.on('end', () => this.#passOn('toClient', () => client.end()))
    target.on('close', (hasFailed) => {
      if (hasFailed) this.#passOn('toClient', () => reset(client))
      if (client.destroyed) onClose()
      else client.once('close', onClose)
    })
  }

  /** Applies a new fault. */
  change(): void {
    const { kind } = this.#state.fault
    for (const socket of [this.#client, this.#target]) kind === 'stall' ? socket.pause() : socket.resume()
    if (this.#isAbandoned) this.reset()
    else if (kind === 'slowClose' && this.#client.writable) {
      this.#state.affected += 1
      this.#isAbandoned = true
      this.#client.end()
    }
    for (const lane of Object.values(this.#lanes)) lane.retransmit()
  }

  /** Resets both sides. What is on its way is lost. */
  reset(): void {
    this.#isAbandoned = true
    for (const lane of Object.values(this.#lanes)) lane.clear()
    for (const socket of [this.#client, this.#target]) reset(socket)
  }

  #forwardRequest(bytes: Buffer): void {
    const { fault } = this.#state
    this.#state.received += 1
    clearTimeout(this.#idle)
    if (fault.kind === 'reset') {
      this.#target.destroy()
      this.#client.resetAndDestroy()
      return
    }
    this.#transmit('toTarget', () => this.#target.write(bytes))
    if (fault.kind === 'halfClose') this.#client.end()
  }

  #forwardResponse(bytes: Buffer): void {
    const { fault } = this.#state
    this.#state.received += 1
    const client = this.#client
    const write = (part: Buffer) => void (client.writableEnded || client.write(part))
    if (fault.kind === 'drip') {
      for (const byte of bytes) this.#lanes.toClient.add(() => write(Buffer.of(byte)), fault.ms, 'last')
    } else if (fault.kind === 'cut') {
      write(bytes.subarray(0, Math.max(0, fault.after - this.#sentBytes)))
      this.#sentBytes += bytes.length
      if (this.#sentBytes >= fault.after) client.end()
    } else this.#transmit('toClient', () => write(bytes))
    clearTimeout(this.#idle)
    if (fault.kind === 'idleClose') this.#closeIfIdle(fault.least + Math.random() * (fault.most - fault.least))
  }

  #transmit(direction: 'toTarget' | 'toClient', deliver: () => void): void {
    const { fault } = this.#state
    const impairment = fault.kind === 'link' ? (fault[direction] ?? {}) : {}
    const isLate = this.#lanes[direction].add(deliver, drawDelay(impairment))
    if (isLate && fault.kind === 'link') this.#state.affected += 1
  }

  /** A side has ended. The other side learns it behind the bytes that are on their way. */
  #passOn(direction: 'toTarget' | 'toClient', end: () => void): void {
    if (this.#state.fault.kind !== 'stall' && !this.#isAbandoned) this.#transmit(direction, end)
  }

  #closeIfIdle(ms: number): void {
    this.#idle = setTimeout(() => {
      this.#state.idleCloses += 1
      this.#client.end()
      this.#target.end()
    }, ms)
  }
}

function reset(socket: Socket): void {
  // libuv cannot reset a socket that is being shut down. The process would never end.
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}

/** Listens on a free port of 127.0.0.1 and forwards to `targetPort`. */
export async function startFaultProxy(targetPort: number): Promise<FaultProxy> {
  const state: ProxyState = { fault: { kind: 'pass' }, idleCloses: 0, affected: 0, received: 0 }
  let accepted = 0
  const connections = new Set<Connection>()
  // With Nagle's algorithm, a response in two chunks would wait up to 40 ms for a delayed acknowledgement.
  const options = { allowHalfOpen: true, noDelay: true }
  const server = net.createServer(options, (client) => {
    accepted += 1
    const target = net.connect({ port: targetPort, host: '127.0.0.1', ...options })
    const connection: Connection = new Connection(state, client, target, () => connections.delete(connection))
    connections.add(connection)
  })
  const listen = (port: number) => new Promise<void>((done) => void server.listen(port, '127.0.0.1', done))
  await listen(0)
  const { port } = server.address() as AddressInfo
  const close = async () => {
    for (const connection of connections) connection.reset()
    if (server.listening) await new Promise((done) => void server.close(done))
  }
  const set = async (next: Fault) => {
    state.fault = next
    state.affected = 0
    for (const connection of connections) connection.change()
    if (next.kind === 'refuse') await close()
    else if (!server.listening) await listen(port)
  }
  return {
    port,
    accepted: () => accepted,
    idleCloses: () => state.idleCloses,
    affected: () => state.affected,
    received: () => state.received,
    set,
    close,
  }
}

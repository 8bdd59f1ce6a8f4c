/** A TCP proxy that injects faults between the edge and a node, or between a client and the edge. */

import type { AddressInfo, Socket } from 'node:net'
import net from 'node:net'

export type Fault =
  | { readonly kind: 'pass' }
  /** Each chunk is delayed by `ms` in both directions. */
  | { readonly kind: 'latency'; readonly ms: number }
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
  /** FIN in both directions after a response, if no request follows within a random time from `least` to `most` ms. */
  | { readonly kind: 'idleClose'; readonly least: number; readonly most: number }

export interface FaultProxy {
  readonly port: number
  /** Connections accepted so far. */
  accepted(): number
  /** Connections that `idleClose` closed so far. */
  idleCloses(): number
  /** Applies to open and to later connections. */
  set(fault: Fault): Promise<void>
  close(): Promise<void>
}

/** Listens on a free port of 127.0.0.1 and forwards to `targetPort`. */
export async function startFaultProxy(targetPort: number): Promise<FaultProxy> {
  let fault: Fault = { kind: 'pass' }
  let accepted = 0
  let idleCloses = 0
  const sockets = new Set<Socket>()
  // With Nagle's algorithm, a response in two chunks would wait up to 40 ms for a delayed acknowledgement.
  const options = { allowHalfOpen: true, noDelay: true }
  const server = net.createServer(options, (client) => {
    accepted += 1
    const target = net.connect({ port: targetPort, host: '127.0.0.1', ...options })
    for (const socket of [client, target]) {
      sockets.add(socket)
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    }
    client.on('close', () => target.destroy())
    if (fault.kind === 'stall') client.pause()
    let idle: NodeJS.Timeout | undefined
    client.on('data', (bytes) => {
      clearTimeout(idle)
      forwardRequest(fault, client, target, bytes)
    })
    client.on('close', () => clearTimeout(idle))
    client.on('end', () => fault.kind !== 'stall' && target.end())
    const sent = { bytes: 0, pending: Promise.resolve() }
    target.on('data', (bytes) => {
      sent.pending = forwardResponse(fault, client, bytes, sent)
      clearTimeout(idle)
      if (fault.kind !== 'idleClose') return
      const time = fault.least + Math.random() * (fault.most - fault.least)
      idle = setTimeout(() => {
        idleCloses += 1
        client.end()
        target.end()
      }, time)
    })
    target.on('end', () => fault.kind !== 'stall' && void sent.pending.then(() => client.end()))
  })
  const listen = (port: number) => new Promise<void>((done) => void server.listen(port, '127.0.0.1', done))
  await listen(0)
  const { port } = server.address() as AddressInfo
  const close = async () => {
    // libuv cannot reset a socket that is being shut down. The process would never end.
    for (const socket of sockets) socket.writableEnded ? socket.destroy() : socket.resetAndDestroy()
    if (server.listening) await new Promise((done) => void server.close(done))
  }
  const set = async (next: Fault) => {
    fault = next
    for (const socket of sockets) next.kind === 'stall' ? socket.pause() : socket.resume()
    if (next.kind === 'refuse') await close()
    else if (!server.listening) await listen(port)
  }
  return { port, accepted: () => accepted, idleCloses: () => idleCloses, set, close }
}

function forwardRequest(fault: Fault, client: Socket, target: Socket, bytes: Buffer): void {
  if (fault.kind === 'reset') {
    target.destroy()
    client.resetAndDestroy()
    return
  }
  if (fault.kind === 'latency') setTimeout(() => target.write(bytes), fault.ms)
  else target.write(bytes)
  if (fault.kind === 'halfClose') client.end()
}

/** Waits for the chunks before, so that latency and drip keep the order. */
async function forwardResponse(
  fault: Fault,
  client: Socket,
  bytes: Buffer,
  sent: { bytes: number; pending: Promise<void> },
) {
  await sent.pending
  if (fault.kind === 'latency') await delay(fault.ms)
  if (fault.kind === 'drip') {
    for (const byte of bytes) {
      if (client.destroyed) return
      client.write(Buffer.of(byte))
      await delay(fault.ms)
    }
  } else if (fault.kind === 'cut') {
    client.write(bytes.subarray(0, Math.max(0, fault.after - sent.bytes)))
    sent.bytes += bytes.length
    if (sent.bytes >= fault.after) client.end()
  } else if (!client.writableEnded) client.write(bytes)
}

const delay = (ms: number) => new Promise<void>((done) => setTimeout(done, ms))

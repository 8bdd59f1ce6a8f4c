/** A TCP proxy that misbehaves on demand: between the edge and a node, or between a client and the edge. */

import type { AddressInfo, Socket } from 'node:net'
import net from 'node:net'

export type Fault =
  | { readonly kind: 'pass' }
  /** Each piece in either direction is late by so many milliseconds. */
  | { readonly kind: 'latency'; readonly ms: number }
  /** The answer comes one byte every `ms`. */
  | { readonly kind: 'drip'; readonly ms: number }
  /** Connections open and stay silent: nothing is read, nothing is written. */
  | { readonly kind: 'stall' }
  /** RST as soon as the first byte of the request is there. */
  | { readonly kind: 'reset' }
  /** Nobody listens; connections that stand are reset. */
  | { readonly kind: 'refuse' }
  /** So many bytes of the answer, then FIN. */
  | { readonly kind: 'cut'; readonly after: number }
  /** FIN to the asking side once its request is through; the target's side stays open. */
  | { readonly kind: 'halfClose' }

export interface FaultProxy {
  readonly port: number
  /** Connections accepted so far. */
  accepted(): number
  /** Holds for connections that stand, and for those to come. */
  set(fault: Fault): Promise<void>
  close(): Promise<void>
}

/** Listens on a free port of 127.0.0.1 and passes to `target`, another port there. */
export async function faultProxy(target: number): Promise<FaultProxy> {
  let fault: Fault = { kind: 'pass' }
  let accepted = 0
  const sockets = new Set<Socket>()
  const server = net.createServer({ allowHalfOpen: true }, (near) => {
    accepted += 1
    const far = net.connect({ port: target, host: '127.0.0.1', allowHalfOpen: true })
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    }
    near.on('close', () => far.destroy())
    if (fault.kind === 'stall') near.pause()
    near.on('data', (bytes) => request(fault, near, far, bytes))
    near.on('end', () => fault.kind !== 'stall' && far.end())
    const answer = { bytes: 0, late: Promise.resolve() }
    far.on('data', (bytes) => {
      answer.late = reply(fault, near, bytes, answer)
    })
    far.on('end', () => fault.kind !== 'stall' && void answer.late.then(() => near.end()))
  })
  const listen = (port: number) => new Promise<void>((done) => void server.listen(port, '127.0.0.1', done))
  await listen(0)
  const { port } = server.address() as AddressInfo
  const close = async () => {
    // A socket that is being shut down cannot be reset: libuv refuses, and the process would never end.
    for (const socket of sockets) socket.writableEnded ? socket.destroy() : socket.resetAndDestroy()
    if (server.listening) await new Promise((done) => void server.close(done))
  }
  const set = async (next: Fault) => {
    fault = next
    for (const socket of sockets) next.kind === 'stall' ? socket.pause() : socket.resume()
    if (next.kind === 'refuse') await close()
    else if (!server.listening) await listen(port)
  }
  return { port, accepted: () => accepted, set, close }
}

function request(fault: Fault, near: Socket, far: Socket, bytes: Buffer): void {
  if (fault.kind === 'reset') {
    far.destroy()
    near.resetAndDestroy()
    return
  }
  if (fault.kind === 'latency') setTimeout(() => far.write(bytes), fault.ms)
  else far.write(bytes)
  if (fault.kind === 'halfClose') near.end()
}

/** Pieces wait for those before them, so that latency and drip keep the order. */
async function reply(fault: Fault, near: Socket, bytes: Buffer, answer: { bytes: number; late: Promise<void> }) {
  await answer.late
  if (fault.kind === 'latency') await pause(fault.ms)
  if (fault.kind === 'drip') {
    for (const byte of bytes) {
      if (near.destroyed) return
      near.write(Buffer.of(byte))
      await pause(fault.ms)
    }
  } else if (fault.kind === 'cut') {
    near.write(bytes.subarray(0, Math.max(0, fault.after - answer.bytes)))
    answer.bytes += bytes.length
    if (answer.bytes >= fault.after) near.end()
  } else if (!near.writableEnded) near.write(bytes)
}

const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms))

/** A client that writes requests as they are on one connection, and reads their responses. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { eventually } from '../../support/eventually.ts'
import { basic } from './test-server.ts'

export interface RawConnection {
  readonly socket: Socket
  readonly isClosed: () => boolean
  /** Everything that was received. */
  readonly text: () => string
  /** Writes the text, and resolves to its response when it is complete or the connection is closed. */
  ask(text: string): Promise<string>
}

export async function openConnection(t: { teardown(end: () => unknown): unknown }, port: number) {
  const socket = connect(port, '127.0.0.1').setNoDelay()
  let received = ''
  let isClosed = false
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
  })
  socket.on('error', () => undefined)
  socket.on('close', () => {
    isClosed = true
  })
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  const connection: RawConnection = {
    socket,
    isClosed: () => isClosed,
    text: () => received,
    ask: async (text) => {
      const before = received.length
      socket.write(text)
      const isHead = text.startsWith('HEAD')
      await eventually(() => isClosed || countResponses(received.slice(before), isHead) > 0)
      return received.slice(before)
    },
  }
  return connection
}

/** Returns the number of complete responses. `isHead`: they have no body. */
export function countResponses(text: string, isHead = false): number {
  let at = 0
  for (let count = 0; ; count++) {
    const end = text.indexOf('\r\n\r\n', at)
    if (end < 0) return count
    const head = text.slice(at, end)
    const [, length = '0'] = /^content-length: (\d+)/im.exec(head) ?? []
    at = end + 4 + (isHead || head.startsWith('HTTP/1.1 304') ? 0 : Number(length))
    if (text.length < at) return count
  }
}

/** Returns the head of a request of alice. */
export function get(path = '/agents', lines: readonly string[] = [], method = 'GET'): string {
  const all = ['Host: edge', 'Accept-Encoding: identity', `Authorization: ${basic('alice')}`, ...lines]
  return `${method} ${path} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n`
}

/** Replaces what differs between two responses to the same request. */
export function masked(text: string): string {
  return text.replace(/^Date: .*/gm, 'Date').replace(/^x-request-id: .*/gim, 'x-request-id')
}

export function statusOf(text: string): number {
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0)
}

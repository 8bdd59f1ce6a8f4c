/**
 * HTTP connections of the load generator over plain sockets: a general client would need more processor time for a
 * request than the edge needs for the answer. A connection has one request in flight; requests share idle connections.
 */
import { connect, type Socket } from 'node:net'

/** A response, or the reason why there is none. */
export interface Received {
  readonly status: number
  /** Status line and headers. */
  readonly head: string
  /** Bytes of the body. */
  readonly length: number
  /** The beginning of the body. */
  readonly beginning: string
  readonly fault?: string
}

type Done = (received: Received) => void

export interface ConnectionOptions {
  readonly url: string
  /** Header lines of each request, each ending with CR LF. */
  readonly headers: string
  /** Whether requests share connections. The user interface itself opens a connection for each request. */
  readonly keepAlive: boolean
  readonly timeoutMs: number
}

const END_OF_HEAD = '\r\n\r\n'
const BEGINNING_BYTES = 16

export class Connections {
  readonly #options: ConnectionOptions
  readonly #host: string
  readonly #port: number
  readonly #idle: Connection[] = []
  readonly #all = new Set<Connection>()

  constructor(options: ConnectionOptions) {
    const { hostname, port } = new URL(options.url)
    this.#options = options
    this.#host = hostname
    this.#port = Number(port)
  }

  /** The number of open connections. */
  get size(): number {
    return this.#all.size
  }

  /** Calls `done` once. */
  get(target: string, done: Done): void {
    const connection = this.#idle.pop() ?? this.#open()
    const { headers, timeoutMs } = this.#options
    connection.send(`GET ${target} HTTP/1.1\r\n${headers}\r\n`, timeoutMs, done)
  }

  close(): void {
    for (const connection of this.#all) connection.close()
  }

  #open(): Connection {
    const { keepAlive } = this.#options
    const connection: Connection = new Connection(connect({ host: this.#host, port: this.#port, noDelay: true }), {
      onIdle: () => (keepAlive ? void this.#idle.push(connection) : connection.close()),
      onClose: () => {
        this.#all.delete(connection)
        const at = this.#idle.indexOf(connection)
        if (at >= 0) this.#idle.splice(at, 1)
      },
    })
    this.#all.add(connection)
    return connection
  }
}

class Connection {
  readonly #socket: Socket
  readonly #onIdle: () => void
  #done: Done | undefined
  #timer: NodeJS.Timeout | undefined
  /** Received bytes while the head is not complete. */
  #partial: Buffer | undefined
  #head = ''
  #beginning = ''
  #length = 0
  #missing = 0

  constructor(socket: Socket, { onIdle, onClose }: { readonly onIdle: () => void; readonly onClose: () => void }) {
    this.#socket = socket
    this.#onIdle = onIdle
    socket.on('data', (chunk) => this.#receive(chunk))
    socket.on('error', (error: NodeJS.ErrnoException) => this.#fail(error.code ?? error.message))
    socket.on('close', () => {
      onClose()
      this.#fail('connection closed')
    })
  }

  send(request: string, timeoutMs: number, done: Done): void {
    this.#done = done
    this.#timer = setTimeout(() => this.#fail('timeout'), timeoutMs)
    this.#socket.write(request, 'latin1')
  }

  close(): void {
    this.#socket.destroy()
  }

  #receive(chunk: Buffer): void {
    if (this.#done === undefined) this.#fail('unexpected bytes')
    else if (this.#head === '') this.#receiveHead(chunk)
    else this.#count(chunk.length)
  }

  #receiveHead(chunk: Buffer): void {
    const bytes = this.#partial === undefined ? chunk : Buffer.concat([this.#partial, chunk])
    const end = bytes.indexOf(END_OF_HEAD)
    if (end < 0) {
      this.#partial = bytes
      return
    }
    this.#partial = undefined
    this.#head = bytes.toString('latin1', 0, end)
    const length = headerOf(this.#head, CONTENT_LENGTH)
    if (length === undefined) {
      this.#fail('no Content-Length')
      return
    }
    const start = end + END_OF_HEAD.length
    this.#length = Number(length)
    this.#missing = this.#length
    this.#beginning = bytes.toString('latin1', start, start + BEGINNING_BYTES)
    this.#count(bytes.length - start)
  }

  #count(bytes: number): void {
    this.#missing -= bytes
    if (this.#missing < 0) this.#fail('more bytes than Content-Length')
    if (this.#missing !== 0) return
    const head = this.#head
    this.#head = ''
    this.#end({ status: Number(head.slice(9, 12)), head, length: this.#length, beginning: this.#beginning })
    this.#onIdle()
  }

  #fail(fault: string): void {
    this.#socket.destroy()
    this.#end({ status: 0, head: '', length: 0, beginning: '', fault })
  }

  #end(received: Received): void {
    clearTimeout(this.#timer)
    const done = this.#done
    this.#done = undefined
    done?.(received)
  }
}

/** Patterns of header lines in a head; the value is the first group. */
export const CONTENT_LENGTH = headerPattern('content-length')
export const CACHE_STATUS = headerPattern('cache-status')
export const AGE = headerPattern('age')

function headerPattern(name: string): RegExp {
  return new RegExp(`\\r\\n${name}:[ \\t]*([^\\r\\n]*)`, 'i')
}

/** Returns the value of a header. */
export function headerOf(head: string, pattern: RegExp): string | undefined {
  return pattern.exec(head)?.[1]
}

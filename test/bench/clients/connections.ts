/**
 * HTTP connections of the load generator over plain sockets: a general client would need more processor time for a
 * request than the edge needs for the answer. A connection has one request in flight; requests share idle connections.
 */
import { connect, type Socket } from 'node:net'

export interface Request {
  readonly method: 'GET' | 'POST'
  readonly target: string
  /** The value of the header. Absent: it is one of the headers of the pool, or there is none. */
  readonly authorization?: string
  /** Bytes of the body that `beginning` has at most. Absent: a few. */
  readonly bodyBytes?: number
}

/** A response, or the reason why there is none. */
export interface Received {
  readonly status: number
  /** Status line and headers. */
  readonly head: string
  /** Bytes of the body. */
  readonly length: number
  /** The first and the last bytes of the body. */
  readonly beginning: string
  readonly ending: string
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
const SHOWN_BYTES = 16

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
  send({ method, target, authorization, bodyBytes = SHOWN_BYTES }: Request, done: Done): void {
    const connection = this.#idle.pop() ?? this.#open()
    const { headers, timeoutMs } = this.#options
    const credentials = authorization === undefined ? '' : `Authorization: ${authorization}\r\n`
    const length = method === 'POST' ? 'Content-Length: 0\r\n' : ''
    const head = `${method} ${target} HTTP/1.1\r\n${headers}${credentials}${length}\r\n`
    connection.send(head, { timeoutMs, bodyBytes, done })
  }

  /** Calls `done` once. */
  get(target: string, done: Done): void {
    this.send({ method: 'GET', target }, done)
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

interface SendOptions {
  readonly timeoutMs: number
  readonly bodyBytes: number
  readonly done: Done
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
  #ending = ''
  #bodyBytes = SHOWN_BYTES
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

  send(request: string, { timeoutMs, bodyBytes, done }: SendOptions): void {
    this.#done = done
    this.#bodyBytes = bodyBytes
    this.#beginning = ''
    this.#ending = ''
    this.#timer = setTimeout(() => this.#fail('timeout'), timeoutMs)
    this.#socket.write(request, 'latin1')
  }

  close(): void {
    this.#socket.destroy()
  }

  #receive(chunk: Buffer): void {
    if (this.#done === undefined) this.#fail('unexpected bytes')
    else if (this.#head === '') this.#receiveHead(chunk)
    else this.#count(chunk)
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
    this.#length = Number(length)
    this.#missing = this.#length
    this.#count(bytes.subarray(end + END_OF_HEAD.length))
  }

  #count(bytes: Buffer): void {
    this.#missing -= bytes.length
    const room = this.#bodyBytes - this.#beginning.length
    if (room > 0) this.#beginning += bytes.toString('latin1', 0, room)
    const last = bytes.toString('latin1', Math.max(0, bytes.length - SHOWN_BYTES))
    this.#ending = (this.#ending + last).slice(-SHOWN_BYTES)
    if (this.#missing < 0) this.#fail('more bytes than Content-Length')
    if (this.#missing !== 0) return
    const head = this.#head
    this.#head = ''
    const [status, length] = [Number(head.slice(9, 12)), this.#length]
    this.#end({ status, head, length, beginning: this.#beginning, ending: this.#ending })
    this.#onIdle()
  }

  #fail(fault: string): void {
    this.#socket.destroy()
    this.#end({ status: 0, head: '', length: 0, beginning: '', ending: '', fault })
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

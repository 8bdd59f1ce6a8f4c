/** A client that sends bytes as they are, and reads each response with those before it (1xx). */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'

export interface Received {
  /** Status codes of the 1xx responses before. */
  readonly interim: readonly number[]
  readonly status: number
  /** With lower-case names; several lines are joined by a comma. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  readonly ms: number
}

export interface Departure {
  readonly afterMs: number
  readonly how: 'reset' | 'close' | 'halfClose'
}

export interface ExchangeOptions {
  readonly responses: number
  /** Sent after `100 Continue`. */
  readonly continueWith?: Buffer
  readonly halfCloseAfterMs?: number
}

/** Only a row that fails waits this long for a response. */
const PATIENCE_MS = 30_000

export class Connection {
  readonly #socket: Socket
  #buffered: Buffer = Buffer.alloc(0)
  #isOver = false
  readonly connected: Promise<unknown>

  constructor(port: number, isSecure: boolean) {
    const place = { host: '127.0.0.1', port, allowHalfOpen: true }
    this.#socket = isSecure ? connectTls({ ...place, rejectUnauthorized: false }) : connect(place)
    this.connected = once(this.#socket, isSecure ? 'secureConnect' : 'connect')
    this.#socket.setNoDelay(true)
    this.#socket.on('data', (chunk: Buffer) => {
      this.#buffered = Buffer.concat([this.#buffered, chunk])
    })
    const over = () => {
      this.#isOver = true
      this.#socket.emit('data', Buffer.alloc(0))
    }
    this.#socket.once('end', over)
    this.#socket.on('error', over)
  }

  /** Sends the bytes and reads the responses; fewer of them if the edge ends the connection. */
  async exchange(bytes: Buffer, { responses, continueWith, halfCloseAfterMs }: ExchangeOptions): Promise<Received[]> {
    const begin = performance.now()
    this.#socket.write(bytes)
    if (halfCloseAfterMs !== undefined) void wait(halfCloseAfterMs).then(() => this.#socket.end())
    const isHead = bytes.subarray(0, 5).toString() === 'HEAD '
    const received: Received[] = []
    const patience = AbortSignal.timeout(PATIENCE_MS)
    while (received.length < responses) {
      const next = await this.#next(isHead, patience, continueWith)
      if (next === undefined) break
      received.push({ ...next, ms: performance.now() - begin })
    }
    return received
  }

  /** Sends the bytes and leaves. */
  async leave(bytes: Buffer, { afterMs, how }: Departure): Promise<void> {
    this.#socket.write(bytes)
    await wait(afterMs)
    if (this.#socket.closed) return
    const closed = once(this.#socket, 'close')
    if (how === 'reset') this.#socket.resetAndDestroy()
    else this.#socket.destroy()
    await closed
  }

  close(): void {
    this.#socket.destroy()
  }

  async #next(isHead: boolean, patience: AbortSignal, rest?: Buffer): Promise<Omit<Received, 'ms'> | undefined> {
    const interim: number[] = []
    for (;;) {
      const message = readMessage(this.#buffered, isHead, this.#isOver)
      if (message === undefined) {
        if (this.#isOver || patience.aborted) return
        await once(this.#socket, 'data', { signal: patience }).catch(() => undefined)
        continue
      }
      this.#buffered = this.#buffered.subarray(message.length)
      if (message.status >= 200) return { ...message, interim }
      interim.push(message.status)
      if (message.status === 100 && rest !== undefined) this.#socket.write(rest)
    }
  }
}

interface Message {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  /** Bytes of the whole message. */
  readonly length: number
}

/** Returns the first message of the bytes, if it is complete. */
function readMessage(bytes: Buffer, isHead: boolean, isEnd: boolean): Message | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return
  const [line = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const status = Number(line.split(' ')[1])
  const headers = new Map<string, string>()
  for (const header of lines) {
    const colon = header.indexOf(':')
    const name = header.slice(0, colon).toLowerCase()
    const before = headers.get(name)
    const text = header.slice(colon + 1).trim()
    headers.set(name, before === undefined ? text : `${before}, ${text}`)
  }
  const start = end + 4
  if (status < 200 || status === 204 || status === 304 || isHead) {
    return { status, headers, body: Buffer.alloc(0), length: start }
  }
  if (headers.get('transfer-encoding') === 'chunked') {
    const chunked = readChunks(bytes, start)
    return chunked && { status, headers, ...chunked }
  }
  const length = headers.get('content-length')
  const stop = length === undefined ? bytes.length : start + Number(length)
  if (length === undefined ? !isEnd : bytes.length < stop) return
  return { status, headers, body: bytes.subarray(start, stop), length: stop }
}

function readChunks(bytes: Buffer, start: number): { readonly body: Buffer; readonly length: number } | undefined {
  const chunks: Buffer[] = []
  for (let at = start; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    const begin = line + 2
    if (bytes.length < begin + size + 2) return
    if (size === 0) return { body: Buffer.concat(chunks), length: begin + 2 }
    chunks.push(bytes.subarray(begin, begin + size))
    at = begin + size + 2
  }
}

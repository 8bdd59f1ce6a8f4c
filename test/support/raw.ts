import { type OutgoingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'

export interface SocketResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** All received text, for connections with several responses. */
  readonly text: string
  /** The edge ended the connection by itself. */
  readonly closed: boolean
}

export interface RawOptions {
  /** Milliseconds to wait for the end of the connection or for a complete response. */
  readonly timeout?: number
  /** Number of complete responses after which the connection is closed; default 1. */
  readonly responses?: number
}

/** Sends bytes unchanged over a new socket and reads the response. */
export function sendRaw(url: string, bytes: string | Buffer, options: RawOptions = {}): Promise<SocketResponse> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) })
    let text = ''
    let closed = false
    const timer = setTimeout(done, options.timeout ?? 3000)
    function done(): void {
      clearTimeout(timer)
      socket.destroy()
      resolve({ ...parse(text), text, closed })
    }
    socket.setEncoding('utf8')
    socket.on('connect', () => socket.write(bytes))
    socket.on('data', (chunk: string) => {
      text += chunk
      // Without `Connection: close` the server leaves the socket open: do not wait for its end.
      if (whole(text) >= (options.responses ?? 1) && !/connection: close/i.test(text)) done()
    })
    socket.on('end', () => {
      closed = true
      done()
    })
    socket.on('error', (fault: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      if (fault.code === 'ECONNRESET' || fault.code === 'EPIPE') {
        closed = true
        return done()
      }
      reject(fault)
    })
  })
}

/** Returns the number of complete responses with a Content-Length in the text. */
function whole(text: string): number {
  let count = 0
  let at = 0
  for (;;) {
    const end = text.indexOf('\r\n\r\n', at)
    if (end < 0) return count
    const length = /content-length: *(\d+)/i.exec(text.slice(at, end))?.[1]
    if (length === undefined) return count
    at = end + 4 + Number(length)
    if (Buffer.byteLength(text) < at) return count
    count += 1
  }
}

function parse(text: string): Omit<SocketResponse, 'text' | 'closed'> {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [line = '', ...lines] = head.split('\r\n')
  const headers = Object.fromEntries(
    lines.map((header) => {
      const colon = header.indexOf(':')
      return [header.slice(0, colon).toLowerCase(), header.slice(colon + 1).trim()]
    }),
  )
  return { status: Number(line.split(' ')[1] ?? 0), headers, body: rest.join('\r\n\r\n') }
}

/**
 * Sends a read on its own connection, and returns the function with which its client leaves: by a reset, because a client
 * that has only closed its side may still read the response.
 */
export function sendAndLeaveLater(url: string, headers: OutgoingHttpHeaders): () => Promise<void> {
  const sent = request(url, { headers, agent: false }).on('error', () => undefined)
  sent.end()
  return async () => {
    const closed = new Promise<void>((done) => void sent.once('close', done))
    sent.socket?.resetAndDestroy()
    await closed
  }
}

/** Reads the key set of an outside issuer (RFC 7517) from where its setting says; no byte of a request comes near it. */
import { Agent, request } from 'undici'

/** The text of an issuer's key set; rejects when it cannot be had. */
export type ReadKeySet = () => Promise<string>

const TIMEOUT = 3000
const GREATEST_BYTES = 256 * 1024

/** A reader of one place: no redirect is followed, three seconds and 256 KiB are the most. Throws for a place without TLS on another machine. */
export function keySetReader(place: string): ReadKeySet {
  const { protocol, hostname } = new URL(place)
  const here = ['127.0.0.1', '[::1]', 'localhost'].includes(hostname)
  if (protocol !== 'https:' && !(protocol === 'http:' && here))
    throw new Error(`the keys of an issuer are read over https, not from ${place}: whoever sits between could sign`)
  return async () => {
    // Reads are minutes apart: a connection kept for the next one would only be closed by the other side.
    const dispatcher = new Agent({ connect: { timeout: TIMEOUT } })
    try {
      const { statusCode, body } = await request(place, {
        dispatcher,
        headers: { accept: 'application/jwk-set+json, application/json' },
        signal: AbortSignal.timeout(TIMEOUT),
      })
      if (statusCode !== 200) throw new Error(`the key set was answered with ${statusCode}`)
      return await readBounded(body)
    } finally {
      await dispatcher.destroy()
    }
  }
}

async function readBounded(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > GREATEST_BYTES) throw new Error(`the key set is longer than ${GREATEST_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

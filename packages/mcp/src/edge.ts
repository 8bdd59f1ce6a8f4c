/** Requests to the running edge, with the rights of one account. */
import { Agent } from 'undici'
import type { Contract } from '../../../src/catalogue/endpoint.ts'
import type { EdgeCall } from './operations.ts'

export interface EdgeOptions {
  readonly url: URL
  readonly contract: Contract
  /** The `Authorization` of the account: its password or a token. */
  readonly authorization: string
  /** PEM of the CA of the edge's certificate. Absent: the CAs of Node.js. */
  readonly ca?: string
}

export interface Received {
  readonly status: number
  readonly type: string
  /** Of the cache; empty if the edge sends none. */
  readonly cacheStatus: string
  readonly age: string
  readonly text: string
}

export interface Edge {
  readonly url: URL
  /** Rejects with an `EdgeFailure` if the edge cannot be reached or refuses the account. */
  send(call: EdgeCall): Promise<Received>
  close(): Promise<void>
}

/** Why nothing could be read or written, as a sentence with a remedy. */
export class EdgeFailure extends Error {}

/** Longer than the timeout of the edge for slow endpoints. */
const TIMEOUT_MS = 150_000
const CONNECT_TIMEOUT_MS = 10_000
/** Longer responses are refused: a cursor reads them in pages. */
const MAX_BYTES = 32 * 1024 * 1024

export function createEdge({ url, contract, authorization, ca }: EdgeOptions): Edge {
  const connect = { timeout: CONNECT_TIMEOUT_MS, ...(ca !== undefined && { ca }) }
  const agent = new Agent({ headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS, connect, maxResponseSize: MAX_BYTES })
  const request = async ({ method, path, contentType, body }: EdgeCall, credentials: string): Promise<Received> => {
    const headers = {
      authorization: credentials,
      accept: 'application/json',
      'user-agent': 'manager-edge-mcp',
      ...(contentType !== undefined && { 'content-type': contentType }),
    }
    const options = { origin: url.origin, path, method: method as 'GET', headers }
    const received = await agent.request({ ...options, ...(body !== undefined && { body }) })
    const header = (name: string) => String(received.headers[name] ?? '')
    return {
      status: received.statusCode,
      type: header('content-type'),
      cacheStatus: header('cache-status'),
      age: header('age'),
      text: await received.body.text(),
    }
  }
  // The newer contract takes a password only at its login.
  const logsIn = contract === 'newer' && authorization.startsWith('Basic ')
  let token: Promise<string> | undefined
  const logIn = async (): Promise<string> => {
    const received = await request({ method: 'POST', path: '/security/user/authenticate' }, authorization)
    if (received.status !== 200) throw refusal(received.status, url)
    return `Bearer ${JSON.parse(received.text).data.token}`
  }
  const credentials = (): Promise<string> => {
    token ??= logsIn ? logIn() : Promise.resolve(authorization)
    token.catch(() => {
      token = undefined
    })
    return token
  }
  return {
    url,
    send: async (call) => {
      try {
        let received = await request(call, await credentials())
        if (received.status === 401 && logsIn) {
          // A token ends; a request with a token that has ended was not carried out.
          token = undefined
          received = await request(call, await credentials())
        }
        if (received.status === 401) throw refusal(401, url)
        return received
      } catch (error) {
        if (error instanceof EdgeFailure) throw error
        throw new EdgeFailure(unreachable(error as Error, url))
      }
    },
    close: () => agent.destroy(),
  }
}

function refusal(status: number, url: URL): EdgeFailure {
  if (status === 401)
    return new EdgeFailure(
      `The edge at ${url.origin} refuses the credentials of the account (401). Check the user and the password, or whether the token has ended.`,
    )
  return new EdgeFailure(`The login at ${url.origin} has status ${status}. Check --url and --contract.`)
}

function unreachable({ message, name }: Error, url: URL): string {
  const [reason = ''] = (message || name).split('\n')
  const remedy = /certificate/.test(reason)
    ? 'Name the CA of its certificate with --ca.'
    : /wrong version|EPROTO|other side closed/.test(reason)
      ? 'Check whether --url must begin with http:// or https://.'
      : 'Check --url, and whether the edge runs.'
  return `The edge at ${url.origin} cannot be reached: ${reason}. ${remedy}`
}

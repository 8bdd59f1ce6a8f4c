/** A client of the simulated newer layout, which logs in at each node on its own. */
import { type IncomingHttpHeaders, request as send } from 'node:http'
import type { Test } from 'tap'
import { type Simulator, type SimulatorOptions, startSimulator } from '../../src/index.ts'

export interface NewerReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Undefined if the body is not JSON. */
  readonly json: NewerBody | undefined
}

export interface NewerBody {
  readonly data?: {
    readonly affected_items?: readonly Readonly<Record<string, unknown>>[]
    readonly total_affected_items?: number
    readonly failed_items?: readonly { readonly error: { readonly code: number }; readonly id: readonly string[] }[]
  } & Readonly<Record<string, unknown>>
  readonly error?: number
  readonly message?: string
  readonly title?: string
  readonly detail?: string
  readonly remediation?: string
}

export interface NewerAskOptions {
  readonly node?: string
  /** Sent in place of a token of the user. */
  readonly authorization?: string
  readonly user?: string
  readonly type?: string
  readonly body?: string
}

export type NewerAsk = (request: string, options?: NewerAskOptions) => Promise<NewerReply>

/** Starts a simulator that ends with the test, and returns a client for it: `ask('GET /agents')`. */
export async function startNewer(
  t: Test,
  options: SimulatorOptions = {},
): Promise<{ sim: Simulator; ask: NewerAsk; logIn: (user?: string, node?: string) => Promise<string> }> {
  const sim = await startSimulator({ layout: 'newer', agents: 40, ...options })
  t.teardown(() => sim.close())
  const urlOf = (node: string) => sim.nodes.find((known) => known.name === node)?.url ?? ''
  const logIn = async (user = 'edge', node = 'master') => {
    const password = options.newer?.users?.[user]?.password ?? 'simulated'
    const path = '/security/user/authenticate?raw=true'
    return (await call(urlOf(node) + path, 'POST', { authorization: basic(user, password) })).text
  }
  const tokens = new Map<string, Promise<string>>()
  const tokenOf = (user: string, node: string) => {
    const key = `${user} ${node}`
    const token = tokens.get(key) ?? logIn(user, node)
    tokens.set(key, token)
    return token
  }
  const ask: NewerAsk = async (request, { node = 'master', authorization, user = 'edge', type, body } = {}) => {
    const [method = 'GET', path = '/'] = request.split(' ')
    const headers = {
      authorization: authorization ?? `Bearer ${await tokenOf(user, node)}`,
      ...(type === undefined ? {} : { 'content-type': type }),
    }
    return call(urlOf(node) + path, method, headers, body)
  }
  return { sim, ask, logIn }
}

export function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

/** `fetch` would not send some methods and headers. The path is sent as it is, such as `//agents`. */
export function call(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body = '',
): Promise<NewerReply> {
  const { origin } = new URL(url)
  const sent = body === '' ? headers : { ...headers, 'content-length': `${Buffer.byteLength(body)}` }
  return new Promise((resolve, reject) => {
    const request = send(
      origin,
      { path: url.slice(origin.length), method, headers: sent, agent: false },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: parseBody(text) })
        })
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

/** Returns the parsed body; undefined if it is not JSON. */
export function parseBody(text: string): NewerBody | undefined {
  try {
    return JSON.parse(text) as NewerBody
  } catch {
    return undefined
  }
}

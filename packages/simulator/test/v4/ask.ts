/** A client of the simulated v4 layout, which logs in at each node on its own. */
import { type IncomingHttpHeaders, request as send } from 'node:http'
import type { Test } from 'tap'
import { type Simulator, type SimulatorOptions, startSimulator } from '../../src/index.ts'

export interface V4Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Undefined if the body is not JSON. */
  readonly json: V4Body | undefined
}

export interface V4Body {
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

export interface V4AskOptions {
  readonly node?: string
  /** Sent in place of a token of the user. */
  readonly authorization?: string
  readonly user?: string
  readonly type?: string
  readonly body?: string
}

export type V4Ask = (request: string, options?: V4AskOptions) => Promise<V4Reply>

/** Starts a simulator that ends with the test, and returns a client for it: `ask('GET /agents')`. */
export async function startV4(
  t: Test,
  options: SimulatorOptions = {},
): Promise<{ sim: Simulator; ask: V4Ask; logIn: (user?: string, node?: string) => Promise<string> }> {
  const sim = await startSimulator({ layout: 'v4', agents: 40, ...options })
  t.teardown(() => sim.close())
  const urlOf = (node: string) => sim.nodes.find((known) => known.name === node)?.url ?? ''
  const [{ name: master } = { name: '' }] = sim.nodes
  const logIn = async (user = 'edge', node = master) => {
    const password = options.v4?.users?.[user]?.password ?? 'simulated'
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
  const ask: V4Ask = async (request, { node = master, authorization, user = 'edge', type, body } = {}) => {
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
): Promise<V4Reply> {
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
export function parseBody(text: string): V4Body | undefined {
  try {
    return JSON.parse(text) as V4Body
  } catch {
    return undefined
  }
}

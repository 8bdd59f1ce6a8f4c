/** A node of the v4 layout as far as logins and tokens go, and calls to it with a clock of the test. */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Test } from 'tap'
import { createCounters } from '../../../../src/core/counters.ts'
import type { NodeCall, NodeResult } from '../../../../src/core/node-call.ts'
import type { NodeCredentials } from '../../../../src/upstream/index.ts'
import { type AccountOf, createAccounts } from '../../../../src/upstream/tokens/login.ts'
import { TokenCalls } from '../../../../src/upstream/tokens/token-calls.ts'
import { clusterOf, fakeNode } from '../fake-node.ts'

export const LOGIN = '/security/user/authenticate'

export interface V4Node {
  readonly url: string
  /** Users and their passwords; the test may change them. */
  readonly passwords: Map<string, string>
  /** Seconds. */
  lifetime: number
  /** Seconds that the clock of the node is ahead. */
  clockOffset: number
  /** Answers the next logins instead of the node; absent: none. */
  answerLogin: ((request: IncomingMessage, response: ServerResponse) => void) | undefined
  /** The logins in the order of their arrival, refused ones included. */
  readonly logins: {
    readonly method: string
    readonly header: string
    readonly accepted: boolean
    readonly at: number
  }[]
  /** All other requests that carried a valid token. */
  readonly calls: { readonly method: string; readonly url: string; readonly token: string }[]
  /** The headers of all other requests. */
  readonly headers: IncomingMessage['headers'][]
  /** Ends all tokens, or those of a user, as a log-out or a change of roles does. */
  revoke(user?: string): void
}

/** Starts a node with the user `edge`, whose password is `pass`. `now`: the time of the test, for `logins`. */
export async function v4Node(t: Test, now: () => number = () => performance.now()): Promise<V4Node> {
  const tokens = new Map<string, string>()
  const { url } = await fakeNode(t, (request, response) => {
    if (request.url === LOGIN) answerLogin(request, response)
    else answerCall(request, response)
  })
  const node: V4Node = {
    url,
    passwords: new Map([['edge', 'pass']]),
    lifetime: 900,
    clockOffset: 0,
    answerLogin: undefined,
    logins: [],
    calls: [],
    headers: [],
    revoke: (user) => {
      for (const [token, name] of tokens) if (user === undefined || name === user) tokens.delete(token)
    },
  }
  return node

  function answerLogin(request: IncomingMessage, response: ServerResponse): void {
    const header = request.headers.authorization ?? ''
    const [name = '', password = ''] = Buffer.from(header.slice('Basic '.length), 'base64').toString().split(':')
    const accepted = node.answerLogin === undefined && node.passwords.get(name) === password
    node.logins.push({ method: request.method ?? '', header, accepted, at: now() })
    if (node.answerLogin !== undefined) node.answerLogin(request, response)
    else if (accepted) {
      const token = createToken(name, node)
      tokens.set(token, name)
      json(response, { data: { token }, error: 0 })
    } else problem(response, 401, { title: 'Unauthorized', detail: 'Invalid credentials' })
  }

  function answerCall(request: IncomingMessage, response: ServerResponse): void {
    node.headers.push(request.headers)
    const token = (request.headers.authorization ?? '').slice('Bearer '.length)
    const user = tokens.get(token)
    if (user === undefined) problem(response, 401, { title: 'Unauthorized', detail: 'Invalid token' })
    else {
      node.calls.push({ method: request.method ?? '', url: request.url ?? '', token })
      json(response, { data: { affected_items: [{ user }], total_affected_items: 1 }, message: '', error: 0 })
    }
  }
}

function createToken(sub: string, { lifetime, clockOffset }: V4Node): string {
  const nbf = Math.floor(Date.now() / 1000) + clockOffset
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { iss: 'wazuh', aud: 'Wazuh API REST', nbf, exp: nbf + lifetime, sub, rbac_roles: [1] }
  return `${part({ alg: 'ES512', typ: 'JWT' })}.${part(claims)}.${randomBytes(99).toString('base64url')}`
}

export function json(response: ServerResponse, body: object, status = 200): void {
  const text = JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'content-length': text.length })
  response.end(text)
}

export function problem(response: ServerResponse, status: number, body: object): void {
  const text = `${JSON.stringify(body)}\n`
  const type = 'application/problem+json; charset=utf-8'
  response.writeHead(status, { 'content-type': type, 'content-length': text.length }).end(text)
}

export interface TokenTest {
  readonly node: V4Node
  readonly calls: TokenCalls
  /** Milliseconds. Waits of the logins advance it. */
  readonly time: { now: number }
  /** Logged messages with their fields, as text. */
  readonly logged: string[]
  /** The release of the node, once it is known. */
  release: string | undefined
  use(credentials: NodeCredentials): void
}

/** Calls over real connections; only the clock is that of the test. */
export async function startTokenTest(
  t: Test,
  credentials: NodeCredentials = { mode: 'service', username: 'edge', password: 'pass' },
): Promise<TokenTest> {
  const time = { now: 0 }
  const node = await v4Node(t, () => time.now)
  const cluster = clusterOf(t, node.url, { ejection: { failures: 100, refusals: 100 } })
  const logged: string[] = []
  let test: TokenTest | undefined
  let accountOf: AccountOf = createAccounts(credentials)
  const calls = new TokenCalls({
    node: 'master',
    send: (call) => cluster.call(call),
    accountOf: (call) => accountOf(call),
    limits: () => ({ timeout: 20_000 }),
    clock: { elapsed: () => time.now, wall: () => Date.now() },
    counters: createCounters(() => time.now),
    loginInterval: 1_000,
    hasEndedToken: () => false,
    release: () => test?.release,
    onLogin: () => undefined,
    sleep: async (ms) => {
      await new Promise((resolve) => setImmediate(resolve))
      time.now += ms
    },
    log: (_, message, fields) => logged.push(`${message} ${JSON.stringify(fields)}`),
  })
  const use = (next: NodeCredentials) => {
    accountOf = createAccounts(next)
  }
  test = { node, calls, time, logged, use, release: undefined }
  return test
}

/** Returns the status of the response, or the fault. */
export function outcomeOf(result: NodeResult): number | string {
  return result.ok ? result.response.status : result.fault
}

export function as(username: string, password: string): Pick<Required<NodeCall>, 'credentials' | 'caller'> {
  return { caller: username, credentials: { username, password } }
}

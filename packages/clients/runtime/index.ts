/** A typed client of an edge: credentials, retries and pages, around `openapi-fetch`. */
import createFetchClient, { type Client } from 'openapi-fetch'
import type { paths as V3Paths } from './v3.js'
import type { paths as V4Paths } from './v4.js'

export type { components as V3Components, paths as V3Paths } from './v3.js'
export type { components as V4Components, paths as V4Paths } from './v4.js'

export interface ClientOptions {
  /** Address of the port with the contract, such as `https://edge.example:55000`. */
  readonly url: string
  readonly credentials: Credentials
  /** How often a request is sent again after 429, 503 or a lost connection; default 2. Writes are sent once. */
  readonly retries?: number
  /** Default: that of the platform. */
  readonly fetch?: (request: Request) => Promise<Response>
}

/** With a password, clients of the v4 contract log in, and again when the token has ended. */
export type Credentials = { readonly user: string; readonly password: string } | { readonly token: string }

/** Returns a client of the contract of releases 3.x. */
export function createV3Client(options: ClientOptions): Client<V3Paths> {
  return createFetchClient<V3Paths>(settingsOf(options, async () => authorizationOf(options.credentials)))
}

/** Returns a client of the contract of releases 4.x. */
export function createV4Client(options: ClientOptions): Client<V4Paths> {
  return createFetchClient<V4Paths>(settingsOf(options, tokenSource(options)))
}

/** Resolves to the `Authorization` of the next request; `isRefused`: the last one had status 401. */
type Authorize = (isRefused: boolean) => Promise<string>

function settingsOf(options: ClientOptions, authorize: Authorize) {
  return {
    baseUrl: options.url,
    // Without it, an error 401 is a text.
    headers: { accept: 'application/json' },
    fetch: (request: Request) => sendWithRetries(request, options, authorize),
  }
}

/** No `Retry-After` lets a program wait longer. */
const MAX_WAIT_S = 60

async function sendWithRetries(request: Request, options: ClientOptions, authorize: Authorize): Promise<Response> {
  const { retries = 2, fetch = globalThis.fetch } = options
  const attempts = request.method === 'GET' || request.method === 'HEAD' ? retries : 0
  let isRefused = false
  for (let attempt = 0; ; attempt++) {
    // A request with a body can be sent once only, so each attempt sends a copy.
    const copy = new Request(request.clone(), {})
    copy.headers.set('authorization', await authorize(isRefused))
    const response = await fetch(copy).catch((error: unknown) => {
      if (attempt >= attempts) throw error
      return undefined
    })
    if (response?.status === 401 && !isRefused && 'password' in options.credentials) {
      // A request with a token that has ended was not carried out, so a write is sent again too.
      isRefused = true
      attempt--
      continue
    }
    const isBusy = response === undefined || response.status === 429 || response.status === 503
    if (!isBusy || attempt >= attempts) return response as Response
    const after = Number(response?.headers.get('retry-after') ?? Number.NaN)
    const seconds = Number.isFinite(after) ? Math.min(Math.max(after, 0), MAX_WAIT_S) : 0.2 * 2 ** attempt
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  }
}

function authorizationOf(credentials: Credentials): string {
  if ('token' in credentials) return `Bearer ${credentials.token}`
  const bytes = new TextEncoder().encode(`${credentials.user}:${credentials.password}`)
  return `Basic ${btoa(String.fromCharCode(...bytes))}`
}

/** Logs in at the first request, and once after a token was refused. */
function tokenSource({ url, credentials, fetch = globalThis.fetch }: ClientOptions): Authorize {
  const fixed = authorizationOf(credentials)
  if ('token' in credentials) return async () => fixed
  let token: Promise<string> | undefined
  const logIn = async (): Promise<string> => {
    const headers = { authorization: fixed, accept: 'application/json' }
    const request = new Request(new URL('/security/user/authenticate', url), { method: 'POST', headers })
    const response = await fetch(request)
    if (response.status !== 200) throw new Error(`the login has status ${response.status}: ${await response.text()}`)
    const { data } = (await response.json()) as { data: { token: string } }
    return `Bearer ${data.token}`
  }
  return (isRefused) => {
    if (isRefused) token = undefined
    token ??= logIn()
    token.catch(() => {
      token = undefined
    })
    return token
  }
}

/** A page of rows, and the number of rows on all pages. */
export interface Page<Row> {
  readonly rows: readonly Row[]
  readonly total: number
}

/** Yields all rows of a collection. `read` returns the page that begins at an offset. */
export async function* allRows<Row>(read: (offset: number) => Promise<Page<Row>>): AsyncGenerator<Row, void> {
  for (let offset = 0; ; ) {
    const { rows, total } = await read(offset)
    yield* rows
    offset += rows.length
    if (rows.length === 0 || offset >= total) return
  }
}

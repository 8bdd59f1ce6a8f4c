/**
 * How commands reach a running edge: their options, the credentials, and requests to one origin. A failed request becomes a
 * `CommandError` with a remedy; which exit code it has: `exitCodeOf`.
 */
import { type Command, Option } from 'commander'
import { Agent } from 'undici'
import type { Contract } from '../catalogue/endpoint.ts'
import { errorTable } from '../core/errors.ts'
import { EXIT_CODES } from '../server/exit.ts'
import { CommandError, promptPassword, readTextFile } from './terminal.ts'

export interface Credentials {
  readonly user?: string
  readonly passwordFile?: string
  readonly tokenFile?: string
}

/** The options that `addConnectionOptions` adds. */
export interface ConnectionOptions extends Credentials {
  /** URL of the operations listener. */
  readonly operations: string
  readonly ca?: string
}

const DEFAULT_OPERATIONS_URL = 'http://127.0.0.1:55001'

/** Adds the options of a command that uses the operations listener. Each can come from the environment. */
export function addConnectionOptions(command: Command): Command {
  const operations = new Option('--operations <url>', 'URL of the operations listener')
  return addCredentialOptions(
    command.addOption(operations.env('MANAGER_EDGE_OPERATIONS').default(DEFAULT_OPERATIONS_URL)),
  )
}

/** Adds the options for the credentials and for the CA of the edge's certificate. */
export function addCredentialOptions(command: Command): Command {
  const option = (name: string, flags: string, text: string) =>
    command.addOption(new Option(flags, text).env(`MANAGER_EDGE_${name}`))
  option('USER', '--user <name>', 'user to log in as')
  option('PASSWORD_FILE', '--password-file <file>', 'file with the password; default: prompted, or read from stdin')
  option('TOKEN_FILE', '--token-file <file>', 'file with a token, instead of --user; "token issue" prints one')
  option('CA', '--ca <file>', 'PEM file of the CA that signed the certificate of the edge')
  return command
}

/** Returns the `Authorization` header. Passwords and tokens are never arguments: the list of processes shows those. */
export async function readAuthorization({ user, passwordFile, tokenFile }: Credentials): Promise<string> {
  if ((user === undefined) === (tokenFile === undefined)) throw usageError('give one of --user and --token-file')
  if (tokenFile !== undefined) return `Bearer ${(await readTextFile(tokenFile)).trim()}`
  const password =
    passwordFile === undefined
      ? await promptPassword()
      : (/^[^\r\n]*/.exec(await readTextFile(passwordFile))?.[0] ?? '')
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

export function parseOrigin(option: string, text: string): URL {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw usageError(`${option} ${text} is not an http or https URL`)
  const url = new URL(text)
  if (url.username !== '')
    throw usageError(`${option} contains a user name; use --user, because the list of processes shows arguments`)
  if (url.pathname !== '/') throw usageError(`${option} must have no path`)
  return url
}

export function usageError(message: string): CommandError {
  return new CommandError(message, EXIT_CODES.configuration)
}

export interface ReceivedResponse {
  readonly status: number
  /** The header as sent; empty if there is none. */
  readonly cacheStatus: string
  /** Absent: no response of the edge. */
  readonly requestId?: string
  readonly retryAfterMs?: number
  /** The clock of the edge, in milliseconds since 1970, to the second. */
  readonly date?: number
}

/** A client of one origin with one caller. It follows no redirects. */
export interface EdgeClient {
  readonly origin: string
  /** Reads the body to its end and discards it, so that the connection can be reused. */
  get(path: string): Promise<ReceivedResponse>
  getText(path: string, init?: RequestInit): Promise<ReceivedResponse & { readonly text: string }>
  /** Yields the data of server-sent events until `signal` aborts. Resolves to the response if it is no stream. */
  events(path: string, signal: AbortSignal): AsyncGenerator<string, void>
  close(): Promise<void>
}

interface RequestInit {
  readonly method?: 'GET' | 'PUT' | 'POST' | 'DELETE'
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent instead of `body`. */
  readonly xml?: string
}

export interface EdgeClientOptions {
  readonly url: URL
  readonly authorization: string
  /** PEM of the CA of the edge's certificate. Absent: the CAs of Node.js. */
  readonly ca?: string
  readonly connections: number
  readonly timeoutMs?: number
}

/** Longer than the timeout of the edge for slow endpoints. */
const DEFAULT_TIMEOUT_MS = 150_000
const CONNECT_TIMEOUT_MS = 10_000

export function createEdgeClient(options: EdgeClientOptions): EdgeClient {
  const { url, authorization, ca, connections, timeoutMs = DEFAULT_TIMEOUT_MS } = options
  const agent = new Agent({
    connections,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect: { timeout: CONNECT_TIMEOUT_MS, ...(ca !== undefined && { ca }) },
  })
  const send = async (path: string, { method = 'GET', body, xml }: RequestInit = {}, signal?: AbortSignal) => {
    const content = xml ?? (body === undefined ? undefined : JSON.stringify(body))
    const headers = {
      authorization,
      accept: 'application/json',
      'user-agent': 'manager-edge',
      ...(method !== 'GET' && { 'x-edge-console': '1' }),
      ...(content !== undefined && { 'content-type': xml === undefined ? 'application/json' : 'application/xml' }),
    }
    const request = { origin: url.origin, path, method, headers, ...(signal && { signal }) }
    const received = await agent.request({ ...request, ...(content !== undefined && { body: content }) })
    const retryAfter = Number(received.headers['retry-after'] ?? Number.NaN)
    const date = Date.parse(String(received.headers.date))
    const requestId = received.headers['x-request-id']
    const response: ReceivedResponse = {
      status: received.statusCode,
      cacheStatus: String(received.headers['cache-status'] ?? ''),
      ...(typeof requestId === 'string' && { requestId }),
      ...(Number.isFinite(retryAfter) && { retryAfterMs: Math.max(0, retryAfter) * 1000 }),
      ...(Number.isFinite(date) && { date }),
    }
    return { body: received.body, response }
  }
  return {
    origin: url.origin,
    get: async (path) => {
      const { body, response } = await send(path)
      for await (const _chunk of body);
      return response
    },
    getText: async (path, init) => {
      const { body, response } = await send(path, init)
      return { ...response, text: await body.text() }
    },
    async *events(path, signal) {
      const { body, response } = await send(path, {}, signal)
      if (response.status !== 200) throw refusal({ ...response, text: await body.text() }, `GET ${path}`)
      body.setEncoding('utf8')
      let text = ''
      for await (const chunk of body) {
        const events = `${text}${chunk}`.split('\n\n')
        text = events.pop() ?? ''
        // An event with a name is no data of the stream, such as a heartbeat.
        for (const event of events) if (event.startsWith('data: ')) yield event.slice('data: '.length)
      }
    },
    close: () => agent.destroy(),
  }
}

/** Thrown on status 401: no further request would succeed. */
export class UnauthorizedError extends CommandError {
  constructor() {
    super('the edge refuses the credentials (401); no further request was sent')
  }
}

/** The newer contract takes a password only to log in, and a token for everything else. */
export async function authorizationFor(
  contract: Contract,
  { url, authorization, ca }: { readonly url: URL; readonly authorization: string; readonly ca?: string },
): Promise<string> {
  if (contract === 'classic' || authorization.startsWith('Bearer ')) return authorization
  const client = createEdgeClient({ url, authorization, connections: 1, ...(ca !== undefined && { ca }) })
  try {
    const { status, text } = await client.getText('/security/user/authenticate?raw=true', { method: 'POST' })
    if (status === 401) throw new UnauthorizedError()
    if (status !== 200) throw new CommandError(`the log-in has status ${status}: ${text.slice(0, 200)}`)
    return `Bearer ${text.trim()}`
  } catch (error) {
    throw connectError(error as Error, url.origin)
  } finally {
    await client.close()
  }
}

/** Returns the error of a request that did not reach the edge. */
export function connectError(error: Error, origin: string, exitCode?: number): CommandError {
  if (error instanceof CommandError) return error
  const remedy = /certificate/.test(error.message)
    ? '; name the CA of its certificate with --ca'
    : /wrong version|EPROTO|other side closed/.test(error.message)
      ? '; check whether the URL must begin with http:// or https://'
      : ''
  const [reason = ''] = (error.message || error.name).split('\n')
  return new CommandError(`${origin} cannot be reached: ${reason}${remedy}`, exitCode)
}

/** Calls to the operations listener of a running edge. Each returns the parsed body or throws a `CommandError`. */
export interface Operations {
  readonly origin: string
  /** `notFound`: what status 404 means, if the listener has the route. */
  read<Body>(path: string, notFound?: string): Promise<Body>
  change<Body>(method: 'PUT' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<Body>
  events(path: string, signal: AbortSignal): AsyncGenerator<string, void>
  /** Returns how many milliseconds the clock of the edge is ahead, to the second. */
  clockOffset(): Promise<number>
}

const OPERATIONS_TIMEOUT_MS = 60_000

/** Runs `use` with a connection to the operations listener and closes the connection. */
export async function withOperations<Result>(
  options: ConnectionOptions,
  use: (operations: Operations) => Promise<Result>,
): Promise<Result> {
  const client = await openClient(options).catch((error: Error) => {
    throw usageError(error.message)
  })
  const call = async <Body>(path: string, init: RequestInit = {}, notFound?: string): Promise<Body> => {
    const received = await client.getText(path, init)
    if (received.status === 404 && notFound !== undefined) throw new CommandError(notFound)
    const what = `${init.method ?? 'GET'} ${path}`
    if (received.status !== 200) throw refusal(received, what)
    try {
      return JSON.parse(received.text)
    } catch {
      throw new CommandError(
        `${what} of ${client.origin} returned no JSON; ${NOT_OPERATIONS}`,
        EXIT_CODES.configuration,
      )
    }
  }
  try {
    return await use({
      origin: client.origin,
      read: (path, notFound) => call(path, {}, notFound),
      change: (method, path, body) => call(path, { method, body }),
      events: client.events,
      clockOffset: async () => {
        // The header has whole seconds: half a second is lost on average.
        const { date = Date.now() } = await client.get('/healthz')
        return date + 500 - Date.now()
      },
    })
  } catch (error) {
    throw connectError(error as Error, client.origin, EXIT_CODES.configuration)
  } finally {
    await client.close()
  }
}

async function openClient(options: ConnectionOptions): Promise<EdgeClient> {
  const url = parseOrigin('--operations', options.operations)
  const authorization = await readAuthorization(options)
  const tls = options.ca === undefined ? {} : { ca: await readTextFile(options.ca) }
  return createEdgeClient({ url, authorization, connections: 2, timeoutMs: OPERATIONS_TIMEOUT_MS, ...tls })
}

const NOT_OPERATIONS =
  'name the operations listener with --operations (setting operations.port), not a port for clients'

function refusal({ status, text }: { readonly status: number; readonly text: string }, what: string): CommandError {
  const message = messageOf(text)
  return new CommandError(describeRefusal(status, message, what), exitCodeOf(status, message))
}

/** The edge understood the command and refused it: 1. Otherwise nothing is known: 2, as for wrong options. */
function exitCodeOf(status: number, message: string | undefined): number {
  const isRefused = message !== undefined && [400, 404, 409].includes(status)
  return isRefused ? EXIT_CODES.failed : EXIT_CODES.configuration
}

function describeRefusal(status: number, message: string | undefined, what: string): string {
  if (status === 401) {
    return 'the edge refuses the credentials (401); check --user and the password, or whether the token has ended'
  }
  if (message === undefined) return `${what} has status ${status}; ${NOT_OPERATIONS}`
  if (status === 403) return `${message} (403); an administrator grants it in access.roles`
  return `${message} (${status})`
}

/** Returns the message of an error of the edge; `undefined`: the text is none, or the listener has no such route. */
function messageOf(text: string): string | undefined {
  try {
    const { message }: { readonly message?: unknown } = JSON.parse(text) ?? {}
    return typeof message === 'string' && message !== errorTable[603].message ? message : undefined
  } catch {
    return undefined
  }
}

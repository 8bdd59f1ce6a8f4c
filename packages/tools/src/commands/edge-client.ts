/**
 * How commands reach a running edge: their options, the credentials, and requests to one origin. A failed request becomes a
 * `CommandError` with a remedy; which exit code it has: `exitCodeOf`.
 */
import { readFile } from 'node:fs/promises'
import { TLSSocket } from 'node:tls'
import { type Command, Option } from 'commander'
import { Agent, buildConnector } from 'undici'
import { CommandError, promptPassword } from '../../../../src/cli/terminal.ts'
import { isLoopback } from '../../../../src/config/formats.ts'
import type { Contract, Endpoint } from '../../../../src/contracts/endpoint.ts'
import { errorTable } from '../../../../src/core/errors.ts'
import { ownEntry, ownField, ownText, parseJson } from '../../../../src/core/values.ts'
import { EXIT_CODES } from '../../../../src/server/exit.ts'

/** The options that `addCredentialOptions` adds. */
export interface CredentialOptions {
  readonly user?: string
  readonly passwordFile?: string
  readonly tokenFile?: string
  readonly ca?: string
  readonly insecure?: true
  readonly fingerprint?: string
}

/** The options that `addConnectionOptions` adds. */
export interface ConnectionOptions extends CredentialOptions {
  /** URL of the operations listener. */
  readonly operations: string
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
  option(
    'FINGERPRINT',
    '--fingerprint <sha256>',
    'accept exactly this certificate, with any signer, also an expired one',
  )
  return command.option('--insecure', 'accept any certificate; for loopback addresses only')
}

/** Reads the `Authorization` header and what decides which certificate of the edge is accepted. */
export async function readCredentials(
  options: CredentialOptions,
): Promise<Pick<EdgeClientOptions, 'authorization' | 'ca' | 'insecure' | 'fingerprint'>> {
  const { ca, insecure, fingerprint } = options
  if (insecure && fingerprint !== undefined) throw usageError('give only one of --fingerprint and --insecure')
  const digest = fingerprint?.replaceAll(':', '').toUpperCase()
  if (digest !== undefined && !/^[0-9A-F]{64}$/.test(digest))
    throw usageError(
      '--fingerprint is not a SHA-256 digest; "openssl x509 -noout -fingerprint -sha256 -in FILE" prints it',
    )
  const authorization = await readAuthorization(options)
  return {
    authorization,
    ...(ca !== undefined && { ca: await readTextFile(ca) }),
    ...(insecure && { insecure }),
    ...(digest !== undefined && { fingerprint: digest }),
  }
}

/** Passwords and tokens are never arguments: the list of processes shows those. */
async function readAuthorization({ user, passwordFile, tokenFile }: CredentialOptions): Promise<string> {
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

export interface ReceivedText {
  readonly status: number
  readonly text: string
  /** `Content-Type`, `Cache-Status`, `Age` and `Date` as sent; empty if the response has none. */
  readonly type: string
  readonly cacheStatus: string
  readonly age: string
  readonly date: string
}

/** A client of one origin with one caller. It follows no redirects. */
export type EdgeClient = ReturnType<typeof createEdgeClient>

interface RequestInit {
  readonly method?: Endpoint['method']
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as it is, instead of `body`. */
  readonly content?: { readonly type: string; readonly text: string } | undefined
}

export interface EdgeClientOptions {
  readonly url: URL
  readonly authorization: string
  /** The v4 contract takes a password only to log in, and a token for everything else. Absent: the password is sent. */
  readonly contract?: Contract
  /** PEM of the CA of the edge's certificate. Absent: the CAs of Node.js. */
  readonly ca?: string
  /** Accepts any certificate of a loopback address. */
  readonly insecure?: true
  /** SHA-256 of the certificate that is accepted, in capital hexadecimal digits. */
  readonly fingerprint?: string
  /** Absent: as many as there are concurrent requests. */
  readonly connections?: number
  readonly timeoutMs?: number
  /** Longer responses are errors. Absent: no limit. */
  readonly maxResponseBytes?: number
  readonly userAgent?: string
}

/** Longer than the timeout of the edge for slow endpoints. */
const DEFAULT_TIMEOUT_MS = 150_000
const CONNECT_TIMEOUT_MS = 10_000

/** An accepted fingerprint replaces every other check of the certificate. The password is sent after this check only. */
function connectorOf({ url, ca, insecure, fingerprint }: EdgeClientOptions): buildConnector.connector {
  if (insecure && !isLoopback(url.hostname))
    throw usageError(`--insecure is for loopback addresses, not for ${url.hostname}; give --fingerprint or --ca`)
  const isVerified = insecure !== true && fingerprint === undefined
  const connect = buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    ...(ca !== undefined && { ca }),
    ...(!isVerified && { rejectUnauthorized: false, maxCachedSessions: 0 }),
  })
  if (fingerprint === undefined) return connect
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null)
      const found = socket instanceof TLSSocket ? socket.getPeerCertificate().fingerprint256 : 'none, without TLS'
      if (found.replaceAll(':', '') === fingerprint) return callback(null, socket)
      socket.destroy()
      callback(new CommandError(`the certificate of ${url.origin} has another fingerprint: ${found}`), null)
    })
}

export function createEdgeClient(options: EdgeClientOptions) {
  const { url, authorization, contract, connections = null, timeoutMs = DEFAULT_TIMEOUT_MS } = options
  const agent = new Agent({
    connections,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxResponseSize: options.maxResponseBytes ?? -1,
    connect: connectorOf(options),
  })
  const request = async (credentials: string, path: string, init: RequestInit = {}, signal?: AbortSignal) => {
    const { method = 'GET', body } = init
    const json = body === undefined ? undefined : { type: 'application/json', text: JSON.stringify(body) }
    const content = init.content ?? json
    const headers = {
      authorization: credentials,
      accept: 'application/json',
      'user-agent': options.userAgent ?? 'manager-edge',
      ...(method !== 'GET' && { 'x-edge-console': '1' }),
      ...(content && { 'content-type': content.type }),
    }
    const sent = { origin: url.origin, path, method, headers, ...(signal && { signal }) }
    return agent.request({ ...sent, ...(content && { body: content.text }) })
  }
  const source = createTokenSource(async () => {
    const { statusCode, body } = await request(authorization, '/security/user/authenticate?raw=true', {
      method: 'POST',
    })
    const text = await body.text()
    if (statusCode === 401) throw new UnauthorizedError()
    if (statusCode !== 200) throw new LogInError(statusCode, text)
    return `Bearer ${text.trim()}`
  })
  const logsIn = contract === 'v4' && !authorization.startsWith('Bearer ')
  const send = async (path: string, init?: RequestInit, signal?: AbortSignal) => {
    if (!logsIn) return request(authorization, path, init, signal)
    const token = source.token()
    const received = await request(await token, path, init, signal)
    if (received.statusCode !== 401) return received
    // The token has ended. The edge did not carry out the request, so a write is sent again too.
    await received.body.dump()
    return request(await source.tokenAfter(token), path, init, signal)
  }
  return {
    origin: url.origin,
    getText: async (path: string, init?: RequestInit): Promise<ReceivedText> => {
      const { statusCode: status, headers, body } = await send(path, init)
      const header = (name: string) => String(headers[name] ?? '')
      return {
        status,
        text: await body.text(),
        type: header('content-type'),
        cacheStatus: header('cache-status'),
        age: header('age'),
        date: header('date'),
      }
    },
    /** Yields the data of server-sent events until `signal` aborts. Throws a `CommandError` if the edge refuses the request. */
    async *events(path: string, signal: AbortSignal): AsyncGenerator<string, void> {
      const { body, statusCode: status } = await send(path, {}, signal)
      if (status !== 200) throw refusal({ status, text: await body.text() }, `GET ${path} of ${url.origin}`)
      body.setEncoding('utf8')
      let text = ''
      for await (const chunk of body) {
        const events = `${text}${chunk}`.split('\n\n')
        text = events.pop() ?? ''
        // An event with a name is no data of the stream, such as a heartbeat.
        for (const event of events) if (event.startsWith('data: ')) yield event.slice('data: '.length)
      }
    },
    close: (): Promise<void> => agent.destroy(),
  }
}

/** Concurrent requests log in once. */
function createTokenSource(logIn: () => Promise<string>) {
  let latest: Promise<string> | undefined
  const token = (): Promise<string> => {
    latest ??= logIn().catch((error) => {
      latest = undefined
      throw error
    })
    return latest
  }
  const tokenAfter = (ended: Promise<string>): Promise<string> => {
    if (latest === ended) latest = undefined
    return token()
  }
  return { token, tokenAfter }
}

/** Thrown on status 401: no further request would succeed. */
export class UnauthorizedError extends CommandError {
  constructor() {
    super('the edge refuses the credentials (401); no further request was sent')
  }
}

/** Thrown if the edge does not issue a token, although it may accept the credentials. */
export class LogInError extends CommandError {
  readonly status: number

  constructor(status: number, text: string) {
    super(`the log-in has status ${status}: ${text.slice(0, 200)}`)
    this.status = status
  }
}

/** Returns the error of a request that did not reach the edge. */
function connectError(error: Error, origin: string): CommandError {
  if (error instanceof CommandError) return error
  const remedy = connectRemedy(error) ?? 'check --operations, and whether the edge runs'
  return usageError(`${origin} cannot be reached: ${reasonOf(error)}; ${remedy}`)
}

export function reasonOf({ message, name }: Error): string {
  // The text of OpenSSL is for the developers of OpenSSL.
  if (/wrong version number/.test(message)) return 'the server speaks no TLS there'
  return (message || name).split('\n')[0] ?? name
}

/** Returns what to do after an error of a connection, if its message shows this. */
export function connectRemedy({ message }: Error): string | undefined {
  if (/certificate has expired/.test(message))
    return 'renew the certificate (operations.tls, or listen.tls); until then, give --fingerprint, or on the same machine --insecure'
  if (/altnames/.test(message)) return 'use a name of the certificate in the URL, or give --fingerprint'
  if (/certificate is not yet valid/.test(message)) return 'correct the clock of this machine, or of the edge'
  if (/certificate/.test(message)) return 'name the CA of its certificate with --ca'
  if (/wrong version|EPROTO|other side closed/.test(message))
    return 'check whether the URL must begin with http:// or https://'
  return undefined
}

/** Calls to the operations listener of a running edge. Each returns the parsed body or throws a `CommandError`. */
export type Operations = ReturnType<typeof operationsOf>

const OPERATIONS_TIMEOUT_MS = 60_000

/** Runs `use` with a connection to the operations listener and closes the connection. */
export async function withOperations<Result>(
  options: ConnectionOptions,
  use: (operations: Operations) => Promise<Result>,
): Promise<Result> {
  const open = async (): Promise<EdgeClient> => {
    const url = parseOrigin('--operations', options.operations)
    const credentials = await readCredentials(options)
    return createEdgeClient({ ...credentials, url, connections: 2, timeoutMs: OPERATIONS_TIMEOUT_MS })
  }
  const client = await open().catch((error: Error) => {
    throw usageError(error.message)
  })
  try {
    return await use(operationsOf(client))
  } catch (error) {
    throw connectError(error as Error, client.origin)
  } finally {
    await client.close()
  }
}

function operationsOf(client: EdgeClient) {
  const call = async <Body>(path: string, init: RequestInit = {}, notFound?: string): Promise<Body> => {
    const received = await client.getText(path, init)
    if (received.status === 404 && notFound !== undefined) throw new CommandError(notFound)
    const what = `${init.method ?? 'GET'} ${path} of ${client.origin}`
    if (received.status !== 200) throw refusal(received, what)
    try {
      return JSON.parse(received.text)
    } catch {
      throw new CommandError(`${what} returned no JSON; ${NOT_OPERATIONS}`, EXIT_CODES.configuration)
    }
  }
  return {
    origin: client.origin,
    /** `notFound`: what status 404 means, if the listener has the route. */
    read: <Body>(path: string, notFound?: string) => call<Body>(path, {}, notFound),
    change: <Body>(method: 'PUT' | 'POST' | 'DELETE', path: string, body?: unknown) =>
      call<Body>(path, { method, body }),
    events: client.events,
    /** Returns how many milliseconds the clock of the edge is ahead, to the second. */
    clockOffset: async (): Promise<number> => {
      // The header has whole seconds: half a second is lost on average.
      const date = Date.parse((await client.getText('/healthz')).date)
      return (Number.isFinite(date) ? date : Date.now()) + 500 - Date.now()
    },
  }
}

const NOT_OPERATIONS =
  'name the operations listener with --operations (setting operations.port), not a port for clients'

function refusal({ status, text }: { readonly status: number; readonly text: string }, what: string): CommandError {
  const message = messageOf(text)
  const remedy = status >= 500 ? remedyOf(text) : undefined
  const described = describeRefusal(status, message, what)
  return new CommandError(remedy === undefined ? described : `${described}; ${remedy}`, exitCodeOf(status, message))
}

/** The edge understood the command and refused it: 1. Otherwise nothing is known: 2, as for wrong options. */
function exitCodeOf(status: number, message: string | undefined): number {
  const isRefused = message !== undefined && [400, 404, 409, 414].includes(status)
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

/** Returns what the error table says that an operator can do. */
function remedyOf(text: string): string | undefined {
  const code = ownField(parseJson(text), 'error')
  return ownEntry(errorTable, String(code))?.remedy
}

/** Returns the message of an error of the edge; `undefined`: the text is none, or the listener has no such route. */
function messageOf(text: string): string | undefined {
  const message = ownText(parseJson(text), 'message')
  return message === errorTable[603].message ? undefined : message
}

/** Reads a file that an option names. */
export async function readTextFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new CommandError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code}); name a readable file`)
  }
}

/**
 * The v4 contract: tokens, exact paths, values in the manager's own types, and errors as `application/problem+json`. The
 * checks run in the order of the manager: path and method, token, fields of the body, query, path values, type of the body.
 */

import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Endpoint, Param, V4Endpoint } from '../../contracts/endpoint.ts'
import { bool } from '../../contracts/v4/value.ts'
import { describedBody } from '../../core/endpoint-names.ts'
import { EdgeError, goneProblem, notFoundProblem, Problem, suggestionHeaders } from '../../core/errors.ts'
import { isInRelease, isRelease5, MAX_SEARCH_BYTES, minorOf } from '../../core/node-call.ts'
import { NO_BODY, type RequestBody } from '../../core/request.ts'
import { isObject } from '../../core/values.ts'
import { checkCoding } from '../content-coding.ts'
import {
  type HttpContract,
  type HttpSettings,
  methodsAt,
  type ParsedQuery,
  type RouterOptions,
  routeFinder,
} from '../contract.ts'
import type { ValidatedUrl } from '../edge-request.ts'
import { canonicalText, decodeText, type Flags, printable, type Values } from '../parameters.ts'
import { parseStrictValue } from '../strict-json.ts'
import {
  checkFields,
  checkParam,
  type IsInRelease,
  invalidFields,
  type OfRelease,
  printedStart,
} from './check-values.ts'
import { badRequest, methodNotAllowed, problemOf, sendProblem, takesPassword, unauthorized } from './problem.ts'
import { factsOf, type ReleaseFacts } from './release-facts.ts'

const router: RouterOptions = {
  caseSensitive: true,
  ignoreTrailingSlash: true,
  ignoreDuplicateSlashes: false,
  maxParamLength: 16_384,
}

interface V4ContractOptions {
  readonly catalogue: readonly Endpoint[]
  /**
   * Returns the lowest and the highest release of the nodes, such as `4.5.4`. Absent: not known, so names of all releases are
   * valid, and the facts are those of the first one.
   */
  readonly releases: () => { readonly lowest?: string | undefined; readonly highest?: string | undefined }
}

export function v4Contract(options: V4ContractOptions) {
  return (settings: () => HttpSettings): HttpContract => new V4Contract(options, settings)
}

class V4Contract implements HttpContract {
  readonly catalogue: readonly Endpoint[]
  readonly router = router
  readonly comparesAppVersion = false
  readonly findRoute: HttpContract['findRoute']
  readonly #releases: V4ContractOptions['releases']
  readonly #settings: () => HttpSettings
  #known = knownOf(undefined)

  constructor({ catalogue, releases }: V4ContractOptions, settings: () => HttpSettings) {
    this.catalogue = catalogue
    this.#releases = releases
    this.#settings = settings
    this.findRoute = routeFinder(this)
  }

  readonly release = (): string | undefined => this.#releases().lowest

  methodsOf({ method }: Endpoint): string[] {
    return [method]
  }

  /** During an upgrade, an operation that some nodes have is sent to these. */
  isServed(endpoint: Endpoint): boolean {
    return endpoint.contract === 'v4' && (this.#isValid(endpoint.releases) || this.#isOfRelease5(endpoint))
  }

  checkForm({ raw, routeOptions }: FastifyRequest): void {
    const { url = '' } = raw
    const { endpoint, permission } = routeOptions.config
    // Of the route of a plugin, which the contract knows nothing of.
    if (permission !== undefined) return
    checkPath(url, this.#facts, (path) => methodsAt(this, path).length > 0)
    if (endpoint === undefined || !this.isServed(endpoint))
      throw wrongRoute(methodsAt(this, url), endpoint, this.release())
    checkScheme(raw.headers, endpoint)
  }

  parseQuery(url: string, endpoint: Endpoint | undefined): ParsedQuery {
    return parseQuery(url, endpoint, this.#settings(), this.#facts)
  }

  served<E extends Endpoint>(endpoint: E | undefined): E {
    if (endpoint === undefined || !this.isServed(endpoint)) throw wrongRoute([], endpoint, this.release())
    if (endpoint.experimental && !this.#settings().cluster.experimental) throw experimentalDisabled()
    return endpoint
  }

  checkContentHeaders(headers: IncomingHttpHeaders, endpoint: Endpoint): void {
    const facts = this.#facts
    if (facts.bodyTypeFirst) checkTypeFirst(headers, endpoint, facts)
    plainContentType(headers)
  }

  /** The manager has one limit for all bodies. */
  readonly bodyLimitOf = (): number => this.#settings().listen.limits.upload

  readonly parseBody: HttpContract['parseBody'] = (endpoint, type, bytes) =>
    parseV4Body(endpoint, { type, bytes }, this.#facts)

  check(endpoint: Endpoint, { params, query, body, headers }: FastifyRequest): void {
    checkBody(endpoint, body)
    this.checkUrl(endpoint, params as Values, query as Values, headers)
    checkKnownFields(endpoint, body)
  }

  checkUrl(endpoint: Endpoint, params: Values, query: Values, headers?: IncomingHttpHeaders): void {
    const facts = this.#facts
    const ofRelease: OfRelease = { isInRelease: this.#isValid, printsSchemas: facts.printsSchemas }
    checkNames(endpoint, query, this.#isValid)
    checkValues(endpoint.query, query, 'query', ofRelease)
    if (this.#settings().cluster.guards?.longSearch === true) checkSearch(endpoint, query)
    checkValues(flagsOf(endpoint), query, 'query', ofRelease)
    checkValues(endpoint.params, params, 'path', ofRelease)
    if (headers !== undefined) checkBodyType(endpoint, headers['content-type'] ?? UNTYPED, facts)
  }

  validatedUrl(endpoint: Endpoint, params: Values, query: Values, flags: Flags): ValidatedUrl {
    return { endpoint, params: valuesOf(endpoint.params, params), query: valuesOf(endpoint.query, query), flags }
  }

  requestBody(endpoint: Endpoint, { body, headers }: FastifyRequest): RequestBody {
    const kind = describedBody(endpoint)?.kind
    if (kind === undefined) return NO_BODY
    if (kind === 'fields') return { kind, fields: body as Readonly<Record<string, unknown>> }
    const isXml = headers['content-type'] === 'application/xml'
    return { kind, type: isXml ? 'application/xml' : 'application/octet-stream', bytes: body as Buffer }
  }

  readonly errorOf = problemOf
  readonly sendError = sendProblem

  notFound(): EdgeError {
    return notFoundProblem()
  }

  readonly #isValid: IsInRelease = (having) => isInRelease(having, this.#current.release)

  #isOfRelease5({ releases: having }: V4Endpoint): boolean {
    const { highest } = this.#releases()
    return isRelease5(highest) && isInRelease(having, highest)
  }

  get #facts(): ReleaseFacts {
    return this.#current.facts
  }

  get #current() {
    const named = this.release()
    if (named !== this.#known.release) this.#known = knownOf(named)
    return this.#known
  }
}

/**
 * Returns the error for a path with these methods, of which the request has none. The title of what the release no longer
 * has says so: such a request is not sent to a node.
 */
function wrongRoute(methods: readonly string[], endpoint?: Endpoint, release?: string): EdgeError {
  if (methods.length > 0) return methodNotAllowed({ allow: methods.join(', ') })
  if (endpoint?.contract !== 'v4' || !isRelease5(release) || endpoint.releases?.until === undefined)
    return notFoundProblem()
  return goneProblem(endpoint.releases.until, endpoint.replacedBy)
}

function knownOf(release: string | undefined) {
  const minor = minorOf(release)
  return { release, minor, facts: factsOf(minor) }
}

/** Throws for slashes that lead elsewhere in this release. The router ignores one at the end. */
function checkPath(url: string, facts: ReleaseFacts, isServed: (path: string) => boolean): void {
  if (url.startsWith('//') && facts.slashesAtStart === 'redirected') throw movedTo(308, url.replace(/^\/+/, '/'))
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  if (facts.encodedSlash === 'notFound' && /%2f/i.test(path)) throw notFoundProblem()
  if (path.length < 2 || !path.endsWith('/') || facts.slashAtEnd === 'ignored') return
  let end = path.length
  while (path[end - 1] === '/') end -= 1
  const stripped = path.slice(0, end)
  if (isServed(stripped)) throw movedTo(307, mark < 0 ? stripped : stripped + url.slice(mark))
}

function movedTo(status: 307 | 308, location: string): EdgeError {
  const title = status === 308 ? 'Permanent Redirect' : 'Temporary Redirect'
  return new Problem(900, { title, detail: `${status}: ${location}`, status, headers: { location } })
}

function experimentalDisabled(): EdgeError {
  const detail = 'Experimental features are disabled'
  const remediation = 'Enable the setting cluster.experimental'
  return new Problem(603, { title: 'Resource Not Found', detail, remediation, number: 1122 })
}

const BASIC = /^Basic +/i
const BEARER = /^Bearer /i

/**
 * Only a login takes a name and a password, and everything else a token. The manager takes several spaces before the
 * password, the plugin that decodes it takes one.
 */
function checkScheme(headers: IncomingHttpHeaders, endpoint: Endpoint): void {
  const { authorization = '' } = headers
  const isLogIn = takesPassword(endpoint)
  if (isLogIn) headers.authorization = authorization.replace(BASIC, 'Basic ')
  if (isLogIn && !BASIC.test(authorization)) throw unauthorized('Invalid credentials')
  if (!isLogIn && !BEARER.test(authorization)) throw unauthorized('No authorization token provided')
}

/** Every operation takes them, unless its record excludes them. */
const FLAGS = ['pretty', 'wait_for_complete']
const flag: Param = { kind: 'described', role: 'flag', value: bool(false) }

function flagsOf(endpoint: Endpoint): Readonly<Record<string, Param>> {
  return Object.fromEntries(FLAGS.filter((name) => takesFlag(endpoint, name)).map((name) => [name, flag]))
}

function takesFlag(endpoint: Endpoint, name: string): boolean {
  return endpoint.contract === 'v3' || !endpoint.withoutFlags?.includes(name)
}

/**
 * Returns the query of a URL: empty values do not count, and the last one of a name does; lists are joined. Without a list, many
 * writes mean all agents, so an empty list of a write may stay in the query, where it is refused as an invalid value, as all
 * empty values are in some releases. The flags stay in the query, where their values are checked later.
 */
function parseQuery(
  url: string,
  endpoint: Endpoint | undefined,
  { listen, cluster }: HttpSettings,
  { emptyParameter }: ReleaseFacts,
): ParsedQuery {
  const maxParameters = listen.limits.queryParameters
  const keepsEmptyLists = cluster.guards?.emptyLists === true
  const query: Values = Object.create(null)
  const mark = url.indexOf('?')
  const pairs = mark < 0 ? [] : url.slice(mark + 1).split('&', maxParameters + 1)
  if (pairs.length > maxParameters) throw badRequest(`At most ${maxParameters} query parameters are read`)
  for (const pair of pairs) {
    const equals = pair.indexOf('=')
    const value = equals < 0 ? '' : decodeText(pair.slice(equals + 1))
    const name = decodeText(equals < 0 ? pair : pair.slice(0, equals))
    const before = query[name]
    if (value === '' && emptyParameter === 'refused') {
      if (pair !== '') query[name] = ''
    } else if (value === '') {
      if (keepsEmptyLists && before === undefined && isList(endpoint, name) && endpoint?.method !== 'GET')
        query[name] = ''
    } else query[name] = before && isList(endpoint, name) ? `${before},${value}` : value
  }
  return { query, flags: { pretty: isTrue(query.pretty), waitForComplete: isTrue(query.wait_for_complete) } }
}

function isList(endpoint: Endpoint | undefined, name: string): boolean {
  return endpoint?.query[name]?.value?.type === 'array'
}

function isTrue(text: string | undefined): boolean {
  return text?.toLowerCase() === 'true'
}

/** Throws 400 for names that the release does not have, and for mandatory ones that are missing. */
function checkNames(endpoint: Endpoint, query: Values, isValid: IsInRelease): void {
  const isKnown = (name: string): boolean => {
    if (FLAGS.includes(name)) return takesFlag(endpoint, name)
    return Object.hasOwn(endpoint.query, name) && isValid(endpoint.query[name]?.value?.releases)
  }
  const extra = Object.keys(query).filter((name) => !isKnown(name))
  const [first] = extra
  if (first === undefined) return
  const known = [...Object.keys(endpoint.query), ...FLAGS].filter(isKnown)
  throw badRequest(`Extra query parameter(s) ${extra.join(', ')} not in spec`, suggestionHeaders(first, known))
}

/** Of these, an empty value has the wrong type. */
const TYPES_WITHOUT_EMPTY: ReadonlySet<string | undefined> = new Set(['integer', 'boolean'])

/** Replaces the values by their canonical texts. */
function checkValues(
  described: Readonly<Record<string, Param>>,
  values: Values,
  place: 'query' | 'path',
  release: OfRelease,
): void {
  for (const [name, param] of Object.entries(described)) {
    const { ignoresCase } = param
    const text = ignoresCase && release.isInRelease(ignoresCase) ? values[name]?.toLowerCase() : values[name]
    if (text === '' && !(release.printsSchemas && TYPES_WITHOUT_EMPTY.has(param.value?.type)))
      throw badRequest(`Query parameter '${name}' is empty. Leave it out if it shall not limit anything`)
    if (text !== undefined) values[name] = checkParam(param, { name, text, place }, release)
    else if (param.required !== undefined) throw badRequest(`Missing ${place} parameter '${name}'`)
  }
}

function checkSearch(endpoint: Endpoint, query: Values): void {
  for (const [name, text = ''] of Object.entries(query)) {
    const value = endpoint.query[name]?.value
    const isSearch = value?.type === 'string' && value.format === 'search'
    if (isSearch && Buffer.byteLength(text) > MAX_SEARCH_BYTES)
      throw badRequest(`Query parameter '${name}' is too long. The maximum is ${MAX_SEARCH_BYTES} bytes`)
  }
}

/** Returns the values that the record names, in its order. A value that is the default is left out. */
function valuesOf(described: Readonly<Record<string, Param>>, values: Values): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [name, param] of Object.entries(described)) {
    const text = values[name]
    if (text !== undefined && text !== String(param.default)) found[name] = canonicalText(param.canonical, text)
  }
  return found
}

/** Types whose body the manager reads as JSON before it compares the type. */
const JSON_TYPES: ReadonlySet<string> = new Set(['application/json', 'application/x-www-form-urlencoded'])

/** Replaces Content-Type by the media type in lower case. The manager compares it after the parameters (`checkBodyType`). */
function plainContentType(headers: IncomingHttpHeaders): void {
  checkCoding(headers, 'gzip')
  const [type = ''] = (headers['content-type'] ?? '').toLowerCase().split(';')
  // Fastify refuses a header that is no media type, before anything else is checked.
  if (/^[\w.+-]+\/[\w.+-]+$/.test(type.trim())) headers['content-type'] = type.trim()
  else delete headers['content-type']
}

/** Throws for another type than those of the operation. A body that declares none has the right one. */
function checkTypeFirst(headers: IncomingHttpHeaders, endpoint: Endpoint, { wrongBodyType }: ReleaseFacts): void {
  const types: readonly string[] = describedBody(endpoint)?.types ?? []
  const [type = ''] = (headers['content-type'] ?? types[0] ?? '').toLowerCase().split(';', 1)
  if (types.length > 0 && !types.includes(type.trim())) throw new Problem(607, wrongBodyType(type.trim(), types))
  headers['content-type'] ??= types[0]
}

/** Returns the object, or the bytes of a file and of a body that is no JSON. */
async function parseV4Body(
  endpoint: Endpoint,
  { type, bytes }: { readonly type: string; readonly bytes: Buffer },
  { emptyBody }: ReleaseFacts,
): Promise<unknown> {
  const body = describedBody(endpoint)
  if (body?.kind !== 'fields') return bytes
  if (bytes.length === 0) throw badRequest(emptyBody)
  if (!JSON_TYPES.has(type)) return bytes
  const value = await parseJson(bytes)
  if (!isObject(value)) throw badRequest(`${printable(printedStart(value))} is not of type 'object'`)
  return value
}

/** Of a text that is no JSON: more than its error contains. */
const MAX_START_BYTES = 1024

/** A text that is no JSON stays a text, of which the start is returned. JSON that other parsers might read in another way is refused. */
async function parseJson(bytes: Buffer): Promise<unknown> {
  try {
    return await parseStrictValue(bytes)
  } catch (error) {
    if (error instanceof EdgeError && error.cause instanceof SyntaxError)
      return bytes.toString('utf8', 0, MAX_START_BYTES)
    throw error
  }
}

/** Checks the fields of a JSON body, which the manager does before the parameters. */
function checkBody(endpoint: Endpoint, sent: unknown): void {
  const body = describedBody(endpoint)
  if (body?.kind !== 'fields' || Buffer.isBuffer(sent)) return
  checkFields(body.fields, sent as Readonly<Record<string, unknown>>)
}

/** The type of a body that declares none. */
const UNTYPED = 'application/octet-stream'

/** Checks the media type, which the manager does after the parameters. */
function checkBodyType(endpoint: Endpoint, type: string, { wrongBodyType }: ReleaseFacts): void {
  const types: readonly string[] = describedBody(endpoint)?.types ?? [type]
  if (!types.includes(type)) throw new Problem(607, wrongBodyType(type, types))
}

/** Checks unknown fields, which the manager does after everything else. */
function checkKnownFields(endpoint: Endpoint, sent: unknown): void {
  const body = describedBody(endpoint)
  if (body?.kind !== 'fields' || body.open) return
  const unknown = Object.keys(sent as object).filter((name) => !Object.hasOwn(body.fields, name))
  if (unknown.length > 0) throw invalidFields(unknown)
}

/**
 * The v4 contract: tokens, exact paths, values in the manager's own types, and errors as `application/problem+json`. The
 * checks run in the order of the manager: path and method, token, fields of the body, query, path values, type of the body.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Body, Endpoint, V4Endpoint } from '../../contracts/endpoint.ts'
import { type EdgeError, goneProblem, notFoundProblem, ProblemError } from '../../core/errors.ts'
import { isInRelease, isRelease5, minorOf } from '../../core/node-call.ts'
import type { RequestBody } from '../../core/request.ts'
import { uploadOf } from '../body.ts'
import {
  type HttpContract,
  type HttpSettings,
  methodsAt,
  type ParsedQuery,
  type RouterOptions,
  routeFinder,
} from '../contract.ts'
import type { ValidatedUrl } from '../edge-request.ts'
import type { RequestValues } from '../param-checks.ts'
import type { Flags, Values } from '../parameters.ts'
import {
  checkBody,
  checkBodyType,
  checkKnownFields,
  checkTypeFirst,
  parseV4Body,
  plainContentType,
  UNTYPED,
} from './body.ts'
import type { IsInRelease, OfRelease } from './check-values.ts'
import { checkPath, checkScheme, hasToken } from './form.ts'
import { methodNotAllowed, problemOf, sendProblem } from './problem.ts'
import { checkNames, checkSearch, checkValues, flagsOf, parseQuery, valuesOf } from './query.ts'
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
    const find = routeFinder(this)
    this.findRoute = (method, url) => (this.#hasMethod(method) ? find(method, url) : null)
  }

  readonly release = (): string | undefined => this.#releases().lowest

  #hasMethod(method: string | undefined): boolean {
    return method !== 'HEAD' || this.#facts.hasHead
  }

  /** During an upgrade, an operation that some nodes have is sent to these. */
  isServed(endpoint: Endpoint): boolean {
    return endpoint.contract === 'v4' && (this.#isValid(endpoint.releases) || this.#isOfRelease5(endpoint))
  }

  checkForm({ raw, routeOptions }: FastifyRequest): void {
    const { url = '' } = raw
    const { endpoint, permission } = routeOptions.config
    // The route of a plugin has a permission, and no record in the contract.
    if (permission !== undefined) return
    checkPath(url, this.#facts, (path) => methodsAt(this, path).length > 0)
    if (endpoint === undefined || !this.isServed(endpoint) || !this.#hasMethod(raw.method))
      throw wrongRoute(methodsAt(this, url), endpoint, this.release())
    checkScheme(raw.headers, endpoint)
  }

  mayRepeat({ method, headers }: IncomingMessage, endpoint: Endpoint): boolean {
    return this.#hasMethod(method) && this.isServed(endpoint) && hasToken(headers)
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

  check(endpoint: Endpoint, { params, query, headers, body }: RequestValues): void {
    const facts = this.#facts
    if (body !== undefined) checkBody(endpoint, body)
    const ofRelease: OfRelease = { isInRelease: this.#isValid, printsSchemas: facts.printsSchemas }
    checkNames(endpoint, query, this.#isValid)
    checkValues(endpoint.query, query, 'query', ofRelease)
    if (this.#settings().cluster.guards.longSearch) checkSearch(endpoint, query)
    checkValues(flagsOf(endpoint), query, 'query', ofRelease)
    checkValues(endpoint.params, params, 'path', ofRelease)
    if (headers !== undefined) checkBodyType(endpoint, headers['content-type'] ?? UNTYPED, facts)
    if (body !== undefined) checkKnownFields(endpoint, body)
  }

  validatedUrl(endpoint: Endpoint, params: Values, query: Values, flags: Flags): ValidatedUrl {
    return { endpoint, params: valuesOf(endpoint.params, params), query: valuesOf(endpoint.query, query), flags }
  }

  requestBody({ kind }: Body, request: FastifyRequest): RequestBody {
    return kind === 'upload' ? uploadOf(request) : { kind, fields: request.body as Readonly<Record<string, unknown>> }
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
 * Returns the error for a path whose methods do not include that of the request. If the release no longer has the
 * operation, the title of the error names its last release. Such a request is not sent to a node.
 */
function wrongRoute(methods: readonly string[], endpoint?: Endpoint, release?: string): EdgeError {
  if (methods.length > 0) return methodNotAllowed({ allow: methods.join(', ') })
  if (endpoint?.contract !== 'v4' || !isRelease5(release) || endpoint.releases?.until === undefined)
    return notFoundProblem()
  return goneProblem(endpoint.releases.until, endpoint.replacedBy)
}

function knownOf(release: string | undefined) {
  return { release, facts: factsOf(minorOf(release)) }
}

function experimentalDisabled(): EdgeError {
  const detail = 'Experimental features are disabled'
  const remediation = 'Enable the setting cluster.experimental'
  return new ProblemError(603, { title: 'Resource Not Found', detail, remediation, number: 1122 })
}

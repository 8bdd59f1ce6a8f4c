/**
 * Admission: every check that depends on the headers of a request, in one order, for both paths. The regular path
 * rejects with the error of the first check that fails. The fast path decides synchronously, and leaves each request
 * that it cannot admit to the regular path.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { namesSecret } from '../catalogue/secret.ts'
import { allows } from '../core/access.ts'
import { EdgeError } from '../core/errors.ts'
import type { Caller } from '../core/request.ts'
import type { Authenticator, Charge, EarlyRequest } from './authenticate.ts'
import { checkContentHeaders } from './body.ts'
import type { Values } from './parameters.ts'

/** The endpoint of a request and what its admission depends on. */
export interface AdmissionTarget {
  readonly endpoint: Endpoint
  readonly query: Values
  /** Lists of permissions that were found to be sufficient. A list never changes: new permissions are another list. */
  readonly sufficient?: WeakSet<readonly string[]>
}

const READ_SECRETS = 'secrets:read'
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

export class Admission {
  readonly charge: Charge
  readonly #authenticator: Authenticator
  readonly #managerVersion: () => string | undefined

  constructor(authenticator: Authenticator, managerVersion: () => string | undefined) {
    this.charge = authenticator.charge
    this.#authenticator = authenticator
    this.#managerVersion = managerVersion
  }

  /** Fast path: returns the caller if the request is admitted; `undefined`: the regular path decides. */
  admitEarly(request: EarlyRequest, target: AdmissionTarget): Caller | undefined {
    const caller = this.#authenticator.recognise(request)
    if (caller === undefined) return undefined
    try {
      this.#check(caller, request.head.headers, target)
      return caller
    } catch (error) {
      if (error instanceof EdgeError) return undefined
      throw error
    }
  }

  /** Regular path: rejects with the error of the first check that fails. `targetOf` throws 603 and 604. */
  async admit(
    request: FastifyRequest,
    reply: FastifyReply,
    targetOf: (request: FastifyRequest) => AdmissionTarget,
  ): Promise<void> {
    const { edge } = request
    edge.nextStage('authenticate')
    // Whether a read costs is known in the pipeline. A write certainly costs, and pays before anything else is decided:
    // each write that is refused later is an audit record.
    const costs = !READS.has(request.method)
    edge.caller =
      edge.handover?.caller ?? (await this.#authenticator.authenticate(request, reply, edge.clientAddress, costs))
    edge.nextStage('authorise')
    this.#check(edge.caller, request.headers, targetOf(request))
    edge.nextStage('validate')
  }

  #check(caller: Caller, headers: IncomingHttpHeaders, target: AdmissionTarget): void {
    checkAppVersion(headers['wazuh-app-version'], this.#managerVersion)
    authorise(caller, target)
    checkContentHeaders(headers, target.endpoint)
  }
}

/** Anything that no role grants is denied: throws 902, naming the missing permission. */
export function authorise({ permissions }: Caller, { endpoint, query, sufficient }: AdmissionTarget): void {
  if (sufficient?.has(permissions)) return
  const needed = endpoint.permission
  if (needed !== 'signedIn' && !allows(permissions, needed)) throw denied(needed)
  if ((endpoint.secret !== 'none' || namesSecret(endpoint, query)) && !allows(permissions, READ_SECRETS)) {
    throw denied(READ_SECRETS)
  }
  sufficient?.add(permissions)
}

function denied(permission: string): EdgeError {
  return new EdgeError(902, `. Permission needed: ${permission}`)
}

const VERSION = /^v?([0-9]{1,4})\.([0-9]{1,4})\.[0-9]{1,4}$/

/**
 * `wazuh-app-version`: a client that sends its version needs a manager of the same major and minor version (contract,
 * errors 801 and 802). The edge compares with the version that the nodes report (`3.11.5`, `Wazuh v3.11.5`). Where there
 * is none to compare with, only malformed headers are rejected.
 */
function checkAppVersion(header: string | string[] | undefined, managerVersion: () => string | undefined): void {
  if (header === undefined) return
  const app = typeof header === 'string' ? VERSION.exec(header) : null
  if (app === null) throw new EdgeError(801)
  const manager = VERSION.exec(managerVersion()?.split(' ').at(-1) ?? '')
  if (manager === null || (app[1] === manager[1] && app[2] === manager[2])) return
  const minorOf = ([, major, minor]: RegExpExecArray) => `'${major}.${minor}.x'`
  throw new EdgeError(802, `. Expected version ${minorOf(manager)}, and found ${minorOf(app)}.`)
}

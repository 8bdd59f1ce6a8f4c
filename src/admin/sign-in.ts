/** Who may use the operations listener: the users of the public one, and no page of another site on their behalf. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { EdgeError } from '../core/errors.ts'
import { allows } from '../core/permissions.ts'
import type { Caller } from '../core/request.ts'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
    clientAddress: string
    /** It went on to the pipeline: whatever comes of it now is told from there. */
    asked: boolean
    /** Whether its caller would be let in now: what is told for long ends with the right to hear it. */
    signedInStill(): Promise<boolean>
  }
}

export interface SignIn {
  /** Registers what it needs on the app, once; gives the function that runs for each request and rejects with an EdgeError. */
  authentication(app: FastifyInstance): Promise<(request: FastifyRequest) => Caller | Promise<Caller>>
  /** The client behind trusted proxies, normalised: failed logins are counted for it. */
  clientAddress(request: FastifyRequest): string
}

const LOOK = 'operations:read'
/** Too many requests, keys of an issuer that cannot be read: they say nothing of the caller. */
const UNDECIDED: ReadonlySet<number> = new Set([903, 911])
/** A form cannot send it, and a script of another origin only after a preflight that nobody here answers. */
const OWN_HEADER = 'x-edge-console'

/** From here on each request of this scope is signed in, may look, and was not sent by a foreign page. */
export async function signIn(app: FastifyInstance, { authentication, clientAddress }: SignIn): Promise<void> {
  app.decorateRequest('caller')
  app.decorateRequest('clientAddress', '')
  app.decorateRequest('asked', false)
  const authenticate = await authentication(app)
  app.decorateRequest('signedInStill', async function (this: FastifyRequest) {
    try {
      demand(await authenticate(this), LOOK)
      return true
    } catch (fault) {
      return fault instanceof EdgeError && UNDECIDED.has(fault.code)
    }
  })
  app.addHook('onRequest', async (request) => {
    request.clientAddress = clientAddress(request)
    request.caller = await authenticate(request)
    demand(request.caller, LOOK)
    refuseForeign(request)
  })
}

/** Refuses with 902, naming the permission that is missing. */
export function demand({ permissions }: Caller, needed: string): void {
  if (!allows(permissions, needed)) throw new EdgeError(902, `. Permission needed: ${needed}`)
}

/**
 * Browsers send Basic credentials along with whatever any page asks for. So another site may only lead here (a link);
 * what changes something must carry a header that no other site can send.
 */
function refuseForeign({ method, headers }: FastifyRequest): void {
  const reads = method === 'GET' || method === 'HEAD'
  const site = headers['sec-fetch-site']
  const led = reads && headers['sec-fetch-mode'] === 'navigate'
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !led) throw foreign()
  if (reads) return
  if (headers[OWN_HEADER] === undefined) throw new EdgeError(902, `. The header ${OWN_HEADER} is needed`)
  const { origin, host } = headers
  if (origin !== undefined && hostOf(origin) !== host) throw foreign()
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}

function foreign(): EdgeError {
  return new EdgeError(902, '. The request was sent by a page of another site')
}

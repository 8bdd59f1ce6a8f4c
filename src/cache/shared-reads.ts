/**
 * Reads that a dialect sends on behalf of a v3 request are reads of the v4 contract too, so they pass the cache as
 * those: what clients of one contract have fetched costs those of the other no second call.
 */
import type { ReadEndpoint } from '../contracts/endpoint.ts'
import { isStaleIfError } from '../core/cache.ts'
import { EdgeError } from '../core/errors.ts'
import type { CallNode, NamedRead, NodeCall, NodeFailure, NodeResponse, NodeResult } from '../core/node-call.ts'
import { cachedOf, isProblem, NO_PARTS, nodeOriginOf, PROBLEM_TYPE, partsOf } from '../core/origins.ts'
import { type Caller, type EdgeRead, type EdgeRequest, type Handler, NO_COST, type Reuse } from '../core/request.ts'
import type { EdgeResponse, EnvelopeResponse } from '../core/response.ts'
import type { ResolveTarget } from './key.ts'

interface SharedReadsPorts {
  /** The pipeline of reads. */
  readonly read: Handler<EdgeRead>
  readonly call: CallNode
  readonly resolveTarget: ResolveTarget
  /** Returns the read of the v4 contract; `undefined`: it has none, or refuses these values. */
  readonly findRead: (read: NamedRead, caller: Caller) => EdgeRead | undefined
  readonly master: () => string
}

export type ShareReads = ReturnType<typeof shareReads>

/** Returns the function that returns how the calls of one request are made; `undefined`: as all others. */
export function shareReads(ports: SharedReadsPorts) {
  return (request: EdgeRequest) => {
    // A snapshot has the rows of a collection already, and would store them twice.
    if (request.kind !== 'read' || request.extent === 'allRows' || request.reuse === 'noStore') return undefined
    const parts = new StoredParts()
    return {
      /** For reads. */
      call: async (call: NodeCall, named: NamedRead): Promise<NodeResult> => {
        const read = toRead(ports, request, call, named)
        if (read === undefined) return ports.call(call)
        const started = performance.now()
        const result = await sendRead(ports, read)
        if (result === undefined) return ports.call(call)
        if (!('kind' in result)) return result
        parts.add(result, started)
        return { ok: true, response: toNodeResponse(result, call.node) }
      },
      /** Adds to the response to the request how old the stored responses are of which it was made. */
      addAge: (response: EdgeResponse) => parts.addAge(response),
    }
  }
}

/** Returns the read that is equal to the call; `undefined`: there is none whose response may be stored. */
function toRead(ports: SharedReadsPorts, request: EdgeRead, call: NodeCall, named: NamedRead): EdgeRead | undefined {
  if (call.expect !== 'bytes' || call.timeout === undefined || call.body !== undefined) return undefined
  const found = ports.findRead(named, request.caller)
  if (found === undefined || !isAskedAt(call.node, found.endpoint, ports.master())) return undefined
  const { endpoint, params, query } = found
  const read: EdgeRead = {
    ...request,
    endpoint,
    params,
    query,
    extent: 'whole',
    waitForComplete: false,
    returnMinimal: false,
    reuse: request.reuse === 'allowed' ? NOT_STALE : request.reuse,
    effort: 'bounded',
    copies: 'unknown',
    deadline: Math.min(request.deadline, performance.now() + call.timeout),
    cost: NO_COST,
  }
  return typeof ports.resolveTarget(read) === 'string' ? undefined : read
}

const NOT_STALE: Reuse = { arrivedWithin: Number.POSITIVE_INFINITY }

/** Whether the read would be sent to this node. Other nodes answer about themselves. */
function isAskedAt(node: string, { target }: ReadEndpoint, master: string): boolean {
  return target.kind === 'anyNode' || (target.kind === 'master' && node === master)
}

/**
 * Resolves to the response, or to the failure of the call; `undefined`: only the call itself can tell, for example because
 * an expired response was served for a node that fails.
 */
async function sendRead(
  { read }: SharedReadsPorts,
  request: EdgeRead,
): Promise<EnvelopeResponse | NodeFailure | undefined> {
  try {
    const response = await read(request)
    if (response.kind !== 'envelope') return undefined
    return isStaleIfError(cachedOf(response)?.status.detail) ? undefined : response
  } catch (error) {
    return error instanceof EdgeError ? failureIn(error) : undefined
  }
}

function failureIn({ cause }: EdgeError): NodeFailure | undefined {
  const result = cause as Partial<NodeResult> | undefined
  return result?.ok === false && 'fault' in result ? (result as NodeFailure) : undefined
}

function toNodeResponse(response: EnvelopeResponse, node: string): NodeResponse {
  const { status, body, origin } = response
  const type = isProblem(response) ? PROBLEM_TYPE : 'application/json'
  return { node, status, type, body, ...(nodeOriginOf(origin)?.isPersonal && { personal: true }) }
}

/** The age of the stored responses of which one is made, in milliseconds, and until when they are fresh (performance.now). */
class StoredParts {
  #oldest = 0
  #freshUntil = Number.POSITIVE_INFINITY

  /** `started`: when it was asked for. The fetch of the whole contains the time since then. */
  add(part: EnvelopeResponse, started: number): void {
    const cached = cachedOf(part)
    const isNew = cached?.kind === 'fetched' && partsOf(cached.from).oldestPartAge === 0
    if (cached === undefined || isNew) return
    const { age, response } = cached
    const { ttl } = response
    const now = performance.now()
    this.#oldest = Math.max(this.#oldest, age - (now - started))
    this.#freshUntil = Math.min(this.#freshUntil, now + ttl - age)
  }

  addAge(response: EdgeResponse): EdgeResponse {
    if (response.kind !== 'envelope' || response.origin.kind !== 'node') return response
    if (this.#freshUntil === Number.POSITIVE_INFINITY) return response
    const { isPersonal, namesFailedNodes, age } = response.origin
    return {
      ...response,
      origin: {
        ...NO_PARTS,
        kind: 'joined',
        isUnfinished: false,
        completeness: isPersonal || namesFailedNodes ? 'partial' : 'complete',
        oldestPartAge: Math.max(this.#oldest, age),
        partsFreshFor: this.#freshUntil - performance.now(),
      },
    }
  }
}

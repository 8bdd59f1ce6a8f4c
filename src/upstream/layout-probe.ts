/** Recognises the layout of a node's API by its response to `GET /`, a call that each account may send. */
import type { Layout } from '../core/node-call.ts'
import { ownField } from '../core/values.ts'
import { sendAliveProbe } from './alive-probe.ts'
import type { AttemptResult } from './exchange.ts'
import { PROBLEM_TYPE } from './node-response.ts'
import type { Transport } from './transport.ts'

/** `reason`: why the layout is not known; it contains no addresses. `sent`: `false` if the edge held the call back. */
export type Recognition =
  | { readonly ok: true; readonly layout: Layout }
  | { readonly ok: false; readonly reason: string; readonly sent: boolean }

const PROBE_TIMEOUT_MS = 3_000
/** A response to `GET /` is shorter. */
const MAX_BODY_BYTES = 16 * 1024

/**
 * Asks the node, past its health and its limits: the answer decides how to talk to the node at all, and costs it next to
 * nothing. Never rejects.
 */
export async function recogniseLayout(
  node: string,
  transport: Pick<Transport, 'attempt'>,
  clock: () => number,
): Promise<Recognition> {
  return layoutOf(await sendAliveProbe({ node, transport, timeout: PROBE_TIMEOUT_MS, clock, caller: 'layout' }))
}

/**
 * A node of the newer layout answers with a media type that the classic one does not have, whether it refuses the call
 * (401), is starting (400), blocks the address of the edge (403) or is at its limit (429).
 */
function layoutOf(result: AttemptResult): Recognition {
  if (!result.ok) {
    const { layout, detail, fault } = result.failure
    return layout === undefined ? { ok: false, reason: detail, sent: fault !== 'overloaded' } : { ok: true, layout }
  }
  const { type, body, status } = result.response
  if (type === PROBLEM_TYPE) return { ok: true, layout: 'newer' }
  const layout = Buffer.isBuffer(body) ? layoutOfBody(body) : undefined
  return layout === undefined ? { ok: false, reason: `status ${status} for GET /`, sent: true } : { ok: true, layout }
}

/** The envelopes of both layouts have `error` and `data`; the newer one names the title of its API. */
function layoutOfBody(body: Buffer): Layout | undefined {
  const value = body.length > MAX_BODY_BYTES ? undefined : parse(body)
  if (typeof ownField(value, 'error') !== 'number') return undefined
  return typeof ownField(ownField(value, 'data'), 'title') === 'string' ? 'newer' : 'classic'
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

import { type EnvelopeContents, isOutcomeUnknown, isUnfinished, parseEnvelope } from '../core/envelope.ts'
import { EdgeError } from '../core/errors.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { errorWord } from './node-part.ts'
import { clusterStatus, type NodeStatus } from './node-report.ts'

/** Many nodes act, or judge, each for itself and all at once. What one of them says or fails of is a value. */

type Json = Extract<EdgeResponse, { kind: 'json' }>

/** `acted`: it says so. `open`: it may have acted, and nobody knows. */
export interface Act {
  readonly node: string
  readonly rtt: number
  readonly acted: boolean
  readonly open: boolean
  /** What kept it from acting. */
  readonly error?: { readonly code: number; readonly message: string }
  /** What it answered, or the edge's own error. */
  readonly answer?: Json
  readonly contents: EnvelopeContents
  readonly fault?: EdgeError
}

/** One call, as the Ask of one node. Rejects only when the client of a read has left. */
export async function act(handle: Handler, node: string, ask: EdgeRequest): Promise<Act> {
  const began = performance.now()
  try {
    const answer = await handle(ask)
    return answered(node, performance.now() - began, answer)
  } catch (thrown) {
    ask.signal.throwIfAborted()
    return failed(node, performance.now() - began, thrown)
  }
}

/** Nobody knows whom to ask. */
export function unasked(fault: EdgeError): Act {
  return failed(NOBODY, 0, fault)
}

const NOBODY = ''

function answered(node: string, rtt: number, answer: EdgeResponse): Act {
  // Files pass through single calls alone; nothing that is joined has one.
  if (answer.kind !== 'json') return failed(node, rtt, new EdgeError(925, ` (${node}: a file came)`))
  const contents = parseEnvelope(answer)
  const { error, message = '' } = contents
  const acted = error === 0
  const open = isUnfinished(answer)
  return { node, rtt, acted, open, contents, answer, ...(!acted && { error: { code: error, message } }) }
}

function failed(node: string, rtt: number, thrown: unknown): Act {
  const fault = thrown instanceof EdgeError ? thrown : new EdgeError(949, ` (${node})`, { cause: thrown })
  const { code, message } = fault
  const open = isOutcomeUnknown(fault)
  return { node, rtt, acted: false, open, error: { code, message }, contents: { error: code, message }, fault }
}

/** `Cluster-Status`; `rows` and `detail` of those that acted. */
export function statusOf(
  acts: readonly Act[],
  of: (act: Act) => Pick<NodeStatus, 'rows' | 'detail'> = () => ({}),
): string {
  return clusterStatus(
    acts
      .filter(({ node }) => node !== NOBODY)
      .map((one) => {
        const { node, rtt, error, answer, fault } = one
        if (error === undefined) return { node, hit: false, rtt, ...of(one) }
        const heard = answer && { receivedStatus: answer.status, detail: String(error.code) }
        return { node, hit: false, error: errorWord(error.code, fault?.cause), ...heard }
      }),
  )
}

/** None acted. The same answer of all nodes is the answer; else what the first of them failed of, and its name. */
export function refusedByAll(acts: readonly Act[]): EdgeResponse {
  const [first] = acts
  if (first === undefined) throw new EdgeError(920)
  const same = acts.every(({ answer, error }) => answer !== undefined && error?.code === first.error?.code)
  const { answer, fault, node, error } = acts.find((one) => one.open) ?? first
  if (fault !== undefined) throw fault
  if (answer === undefined) throw new EdgeError(949)
  const shown = same ? answer : named(answer, node, error)
  return { ...shown, clusterStatus: statusOf(acts) }
}

/** The node's own refusal, with the name of the node. */
export function named(answer: Json, node: string, error: Act['error']): Json {
  const text = JSON.stringify({ error: error?.code, message: `${error?.message} (${node})` })
  return { kind: 'json', status: answer.status, body: Buffer.from(text) }
}

export function jsonAnswer(data: unknown, acts: readonly Act[], status = statusOf(acts)): Json {
  return {
    kind: 'json',
    status: 200,
    body: Buffer.from(JSON.stringify({ error: 0, data })),
    clusterStatus: status,
    ...(acts.some(({ open }) => open) && { outcomeUnknown: true as const }),
  }
}

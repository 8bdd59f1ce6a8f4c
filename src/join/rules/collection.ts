import type { WhenPartial } from '../../catalogue/endpoint.ts'
import { EdgeError, errorTable } from '../../core/errors.ts'
import type { EdgeResponse } from '../../core/response.ts'
import type { CollectionError } from '../../query/request.ts'
import { type Joined, type JoinHow, joinedBody, joinRows } from '../bytes/join.ts'
import type { Piece } from '../node-pages.ts'
import { faultOf, PartFailed, unreadable } from '../node-part.ts'
import type { Ledger } from '../node-report.ts'

/** From the rows of all nodes to one answer: joined, cut once, and labelled where somebody is missing. */

type Json = Extract<EdgeResponse, { kind: 'json' }>

/** Rows that cannot be read drop out, and their node is named; then what is left is joined anew. Rejects with CollectionErrors. */
export async function compose(
  pieces: readonly Piece[],
  how: JoinHow & { readonly whenPartial?: WhenPartial },
  ledger: Ledger,
): Promise<Json> {
  const { whenPartial = 'label' } = how
  if (pieces.length === 0 && ledger.empty && ledger.faults.length > 0) return nothingCame(ledger)
  let left = pieces
  for (;;) {
    if (whenPartial === 'fail' && ledger.faults.length > 0) return nothingCame(ledger)
    // Beyond the end there is nothing to read on for.
    const lazily = how.offset < left.reduce((sum, { total }) => sum + total, 0)
    const parts = left.map((piece) => piece.join(lazily))
    const joined = await joinRows(parts, how)
    if (joined.ok) {
      for (const [at, { node, total }] of left.entries()) ledger.rows(node, joined.taken[at] ?? 0, total)
      return labelled(joinedBody(joined, besides(ledger)), ledger)
    }
    dropOut(left[joined.part]?.node ?? 'unknown', joined, ledger)
    left = left.filter((_, at) => at !== joined.part)
    if (left.length === 0) return nothingCame(ledger)
  }
}

function dropOut(node: string, { reason, cause }: Extract<Joined, { ok: false }>, ledger: Ledger): void {
  // A page that failed stands in the book already.
  if (cause instanceof PartFailed && ledger.faultsOf(node).includes(cause.fault)) return
  if (cause instanceof PartFailed) ledger.failed(node, cause.fault)
  else ledger.failed(node, cause === undefined ? unreadable(reason) : faultOf(cause))
}

/** What a node would answer to such a request. */
export function refusal({ code, message }: CollectionError, { status }: Ledger): Json {
  const bytes = Buffer.from(JSON.stringify({ error: code, message }))
  return { kind: 'json', status: 200, body: bytes, ...(status !== '' && { clusterStatus: status }) }
}

/** `data` beside items and total. */
export function besides(ledger: Ledger): { readonly failed_nodes?: Ledger['failedNodes'] } {
  const failed = ledger.failedNodes
  return failed.length > 0 ? { failed_nodes: failed } : {}
}

export function labelled(bytes: Buffer, ledger: Ledger): Json {
  const { status, oldest, partial } = ledger
  const of = status === '' ? {} : { clusterStatus: status }
  return {
    kind: 'json',
    status: 200,
    body: bytes,
    ...of,
    ...(oldest > 0 && { oldestPartAge: oldest }),
    ...(partial && { partial }),
  }
}

/** The error of the first node; one of the framework goes out as it came. */
export function nothingCame({ faults, status: clusterStatus }: Ledger): Json {
  const { answered, thrown = new EdgeError(920) } = faults[0]?.fault ?? {}
  if (answered) return { kind: 'json', status: answered.status, body: answered.body, clusterStatus }
  const { code, message, headers, cause } = thrown
  const detail = message.slice(errorTable[code].message.length)
  throw new EdgeError(code, detail, { headers: { ...headers, 'cluster-status': clusterStatus }, cause })
}

/** The head of a snapshot, which is stored as a response is. */
import type { PageFrame } from '../../collections/page-frame.ts'
import type { MadeOfParts, SnapshotResponse } from '../../core/response.ts'
import { parseJson } from '../../core/values.ts'

/** What is stored of a snapshot besides its rows. */
export interface SnapshotHead {
  readonly id: string
  /** Which of two names its parts have: a snapshot and the one that replaces it have different names. */
  readonly side: 0 | 1 | 2
  readonly parts: number
  readonly bytes: number
  /** Members of `data` beside the rows and their number: `failed_nodes` of a joined collection. */
  readonly others?: Readonly<Record<string, unknown>>
  /** The text of the node around the rows; absent: that of the edge. */
  readonly frame?: PageFrame
  readonly totalItems: number
}

/** It may name hundreds of nodes. */
const MAX_HEAD_BYTES = 128 * 1024

/** Returns the head of a snapshot as reads return it. `parts`: of a joined collection. */
export function snapshotOf(head: SnapshotHead, parts: MadeOfParts): SnapshotResponse {
  const origin = { ...parts, kind: 'snapshot', rowBytes: head.bytes } as const
  return { kind: 'snapshot', body: Buffer.from(JSON.stringify(head)), origin }
}

/** Returns undefined for a head that this release did not write. */
export function parseHead({ body }: Pick<SnapshotResponse, 'body'>): SnapshotHead | undefined {
  if (body.length > MAX_HEAD_BYTES) return undefined
  const { id, side, parts, bytes, others, frame, totalItems } = Object(parseJson(body)) as Partial<SnapshotHead>
  if (typeof id !== 'string' || (side !== 0 && side !== 1 && side !== 2)) return undefined
  if (![parts, bytes, totalItems].every((count) => Number.isSafeInteger(count))) return undefined
  return { id, side, parts, bytes, ...(others && { others }), ...(frame && { frame }), totalItems } as SnapshotHead
}

/** The failed items of responses of the v4 contract: read, changed, and written as the manager writes them. */

import { findListInTurns } from '../core/envelope.ts'
import { parseInTurns } from '../core/json-parse.ts'
import { concatInTurns, jsonInTurns } from '../core/long-values.ts'
import type { NodeResponse, NodeResult } from '../core/node-call.ts'
import { PROBLEM_TYPE } from '../core/origins.ts'
import { ownField } from '../core/values.ts'
import { ALL_FAILED, NO_SUCH_NODE, SOME_FAILED, UNKNOWN_NODE } from './v4/content.ts'

/** A failed item of a lost node, in the words of the manager. */
export const LOST_ITEM = {
  code: UNKNOWN_NODE,
  message: 'Unknown node ID',
  remediation: 'Check the name of the node',
} as const
export const NOT_CONNECTED_ITEM = {
  code: NO_SUCH_NODE,
  message: 'Node does not exist',
  remediation:
    'Make sure the name is correct and that the node is up. You can check it using `cluster_control -l` (https://documentation.wazuh.com/current/user-manual/reference/tools/cluster_control.html#get-connected-nodes)',
} as const

export interface FailedItem {
  readonly error: { readonly code: number; readonly message: string }
  readonly id: readonly unknown[]
}

interface FailedItemChanges {
  readonly added: readonly FailedItem[]
  readonly isLeftOut: (code: number) => boolean
  /** Of a response with some failed items. */
  readonly message: string
}

/** Changes the failed items of a response. The affected ones are neither parsed nor copied to values. */
export async function addFailed(body: Buffer, { added, isLeftOut, message }: FailedItemChanges): Promise<Buffer> {
  const found = await findListInTurns(body, 'affected_items', 'total_affected_items')
  if (found === undefined) return body
  const { rows, total } = found
  const others = await parseInTurns(await concatInTurns([body.subarray(0, rows.from), body.subarray(rows.to)]))
  const { affected_items: _, ...data } = Object(ownField(others, 'data')) as { affected_items?: unknown }
  const before = ownField(data, 'failed_items')
  const stay = Array.isArray(before) ? (before as FailedItem[]).filter(({ error }) => !isLeftOut(error.code)) : []
  const failed = mergeItems([...stay, ...added])
  const count = failed.reduce((sum, { id }) => sum + id.length, 0)
  const changed = await jsonInTurns({ ...data, total_failed_items: count, failed_items: failed })
  const error = count === 0 ? 0 : total > 0 ? SOME_FAILED : ALL_FAILED
  const text = error === SOME_FAILED ? message : ownField(others, 'message')
  return concatInTurns([
    Buffer.from('{"data":{"affected_items":['),
    body.subarray(rows.from, rows.to),
    Buffer.from('],'),
    changed.subarray(1),
    Buffer.from(`,${JSON.stringify({ message: text, error }).slice(1)}`),
  ])
}

/** The manager has one item for each error, in the order of the codes. */
function mergeItems(items: readonly FailedItem[]): readonly FailedItem[] {
  const byError = new Map<string, FailedItem>()
  for (const item of items) {
    const key = `${item.error.code} ${item.error.message}`
    const before = byError.get(key)
    byError.set(key, before === undefined ? item : { ...before, id: [...new Set([...before.id, ...item.id])].sort() })
  }
  return [...byError.values()].sort((a, b) => a.error.code - b.error.code)
}

/** The answer about an agent of a lost node. */
export function unknownNode(node: string): NodeResult {
  const { code, message, remediation } = LOST_ITEM
  const problem = { title: 'Wazuh Cluster Error', detail: message, remediation, error: code }
  return responseOf(node, { status: 400, type: PROBLEM_TYPE, body: Buffer.from(`${JSON.stringify(problem)}\n`) })
}

/** The answer about nodes that are not connected. */
export function failedOnly(node: string, id: readonly string[]): NodeResult {
  const data = {
    affected_items: [],
    total_affected_items: 0,
    total_failed_items: id.length,
    failed_items: [{ error: NOT_CONNECTED_ITEM, id }],
  }
  const body = Buffer.from(JSON.stringify({ data, message: 'No information was returned', error: ALL_FAILED }))
  return responseOf(node, { status: 200, type: 'application/json', body })
}

function responseOf(node: string, response: Omit<NodeResponse, 'node'>): NodeResult {
  return { ok: true, response: { node, ...response } }
}

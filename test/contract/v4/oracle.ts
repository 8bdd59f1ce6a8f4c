/**
 * The v3 response that the measurements demand for a recorded response. It reads neither the tables nor the code of
 * the edge.
 */

import { affectedOf, bodyOf, failedOf, type V4Exchange } from './exchanges.ts'
import { type CodeMeaning, meaningOfFailed, meaningOfProblem } from './oracle-errors.ts'
import { refusalOf } from './oracle-refusals.ts'
import { type Shape, shapeOf } from './oracle-shapes.ts'
import type { V3Request } from './v3-request.ts'

export type Expected =
  /** The edge refuses the request without a call, with one of these codes. */
  | { readonly kind: 'refused'; readonly codes: readonly number[] }
  /** Several codes: the measurements leave the choice. */
  | { readonly kind: 'error'; readonly status: number; readonly codes: readonly number[] }
  | { readonly kind: 'data'; readonly data: unknown }
  /** Lists whose order does not count. */
  | { readonly kind: 'counts'; readonly data: unknown }
  /** `msg` and the affected ids, and the failed ones in the order of their ids. */
  | { readonly kind: 'affected'; readonly data: Outcome }
  | { readonly kind: 'text'; readonly text: RegExp }
  /** `count` of these rows. */
  | { readonly kind: 'page'; readonly rows: readonly unknown[]; readonly count: number; readonly total: unknown }

/** An agent that is a member already is no failure in the v3 layout. */
const ALREADY_MEMBER = 1751

export interface Outcome {
  readonly msg: string
  readonly list: string
  /** In the order of their texts. */
  readonly done: readonly string[]
  /** Failed ids have no error. */
  readonly plain: boolean
  readonly failed: readonly { readonly id: string; readonly code: number }[]
}

export function expectedOf(request: V3Request, exchange: V4Exchange): Expected {
  const codes = refusalOf(request)
  if (codes !== undefined) return { kind: 'refused', codes }
  const shape = shapeOf(request.endpoint)
  if (exchange.response.status !== 200) return ofMeaning(meaningOfProblem(request, exchange), shape, request, exchange)
  const items = affectedOf(exchange)
  const failed = failedOf(exchange)
  const [first] = failed
  if (first !== undefined && items?.affected_items.length === 0 && shape.kind !== 'affected') {
    return ofMeaning(meaningOfFailed(request.endpoint, first.error.code), shape, request, exchange)
  }
  return success(shape, request, exchange)
}

function ofMeaning(meaning: CodeMeaning, shape: Shape, request: V3Request, exchange: V4Exchange): Expected {
  if (meaning === 'empty') return { kind: 'data', data: emptyOf(shape) }
  if (meaning === 'success') return { kind: 'text', text: textOf(shape, request, exchange) }
  return { kind: 'error', ...meaning }
}

function emptyOf({ kind }: Shape): unknown {
  return kind === 'collection' || kind === 'pages' ? { items: [], totalItems: 0 } : {}
}

function success(shape: Shape, request: V3Request, exchange: V4Exchange): Expected {
  const body = bodyOf(exchange)
  const list = affectedOf(exchange)
  const items = list?.affected_items ?? []
  switch (shape.kind) {
    case 'text':
      return { kind: 'text', text: textOf(shape, request, exchange) }
    case 'file':
      return { kind: 'data', data: exchange.response.body }
    case 'data':
      return { kind: 'data', data: shape.of(body?.data, request, exchange.response.body ?? '', exchange.user) }
    case 'collection': {
      const rows = items.map((item) => shape.row(item, request))
      const total = shape.countsPage ? rows.length : list?.total_affected_items
      return { kind: 'data', data: { items: rows, totalItems: total } }
    }
    case 'pages': {
      const rows = items.map((item) => shape.row(item, request))
      const limit = Number(request.query.limit ?? 500)
      return { kind: 'page', rows, count: Math.min(limit, rows.length), total: list?.total_affected_items }
    }
    case 'one': {
      // The node ignores the case of names.
      const [item] = items as readonly { readonly name?: unknown }[]
      const wanted = request.params.agent_name
      if (item !== undefined && wanted !== undefined && item.name !== wanted) {
        return ofMeaning(shape.missing ?? 'empty', shape, request, exchange)
      }
      if (items.length === 0) return ofMeaning(shape.missing ?? 'empty', shape, request, exchange)
      return { kind: 'data', data: shape.row(items[0], request) }
    }
    case 'affected':
      return { kind: 'affected', data: affected(shape, request, exchange) }
    case 'counts':
      return { kind: 'counts', data: shape.of(body?.data, exchange.user) }
  }
}

function textOf(shape: Shape, request: V3Request, exchange: V4Exchange): RegExp {
  if (shape.kind !== 'text') throw new Error(`${request.endpoint} has no text`)
  return shape.text(request, { message: bodyOf(exchange)?.message ?? '', code: failedOf(exchange)[0]?.error.code })
}

function affected(
  { all, some, none, plain, list = 'affected_agents' }: Extract<Shape, { kind: 'affected' }>,
  request: V3Request,
  exchange: V4Exchange,
): Outcome {
  const items = affectedOf(exchange)?.affected_items ?? []
  const reported = failedOf(exchange).flatMap(({ error: { code }, id }) => id.map((one) => ({ id: one, code })))
  const members = reported.filter(({ code }) => code === ALREADY_MEMBER).map(({ id }) => id)
  const failed = reported.filter(({ code }) => code !== ALREADY_MEMBER)
  const done = [...(items as readonly string[]), ...members].sort()
  const isNothing = none !== undefined && done.length + failed.length === 0
  const msg = isNothing ? none : (failed.length > 0 ? some : all).replace(':group_id', request.params.group_id ?? '')
  return { msg, list, done, failed: byId(failed), plain: plain === true }
}

export function byId<T extends { readonly id: string }>(failed: readonly T[]): T[] {
  return [...failed].sort((a, b) => a.id.localeCompare(b.id))
}

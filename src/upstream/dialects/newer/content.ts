/** Reads the bodies of the newer layout as foreign input. */
import type { Readable } from 'node:stream'
import type { NodeResponse } from '../../../core/node-call.ts'
import { ownField, ownText } from '../../../core/values.ts'
import { parseInTurns } from './parse-in-turns.ts'

/** What the body of a response is. */
export type Content = Success | Problem | FileText

export interface FileText {
  readonly kind: 'file'
  readonly text: string
}

/** A response with `data`, of which items may have failed. */
export interface Success {
  readonly kind: 'success'
  readonly data: unknown
  /** 0: all done; 2: partly; 1: nothing. */
  readonly error: number
  /** `affected_items`, if `data` has them. */
  readonly items: readonly unknown[] | undefined
  readonly total: number
  readonly failed: readonly FailedItems[]
  readonly message: string
}

/** One error, and the items that failed with it. */
export interface FailedItems {
  readonly code: number
  readonly message: string
  readonly ids: readonly string[]
}

/** A response that refuses the whole request (`application/problem+json`). `code`: absent for faults of parameters. */
export interface Problem {
  readonly kind: 'problem'
  readonly status: number
  readonly code?: number
  readonly title: string
  readonly detail: string
  /** What each node that worked on the call says. */
  readonly nodeDetails: readonly string[]
}

/** Returns the content, or the reason why the body is not one of the API. */
export async function readContent({ status, type, body }: NodeResponse): Promise<Content | string> {
  if (!Buffer.isBuffer(body)) return discard(body)
  const isSuccess = status === 200 || status === ACCEPTED
  if (isSuccess && type !== 'application/json') return { kind: 'file', text: body.toString() }
  const value = await parseInTurns(body)
  if (typeof value === 'string') return value
  return isSuccess ? readSuccess(value) : readProblem(status, value)
}

/** Later releases answer restarts with it, which go on after the response. */
const ACCEPTED = 202

function discard(body: Readable): string {
  body.destroy()
  return 'the body is a stream'
}

function readSuccess(value: object): Success | string {
  const error = ownField(value, 'error')
  if (error !== 0 && error !== 1 && error !== 2) return 'no error number'
  const data = ownField(value, 'data')
  const items = ownField(data, 'affected_items')
  const total = ownField(data, 'total_affected_items')
  const failed = readFailed(ownField(data, 'failed_items'))
  const message = ownField(value, 'message')
  if (failed === undefined) return 'failed_items are not errors with ids'
  if (items !== undefined && !Array.isArray(items)) return 'affected_items are no list'
  if (Array.isArray(items) && !items.every(isItem)) return 'affected_items are neither objects nor texts'
  if (Array.isArray(items) && total !== undefined && !isCount(total)) return 'the total is no number of items'
  return {
    kind: 'success',
    data,
    error,
    items: Array.isArray(items) ? items : undefined,
    total: typeof total === 'number' ? total : 0,
    failed,
    message: typeof message === 'string' ? message : '',
  }
}

function isCount(total: unknown): boolean {
  return Number.isSafeInteger(total) && Number(total) >= 0
}

function isItem(item: unknown): boolean {
  return typeof item === 'string' || (typeof item === 'object' && item !== null && !Array.isArray(item))
}

function readFailed(failed: unknown): readonly FailedItems[] | undefined {
  if (failed === undefined) return []
  if (!Array.isArray(failed)) return undefined
  const read = failed.map((item: unknown) => {
    const error = ownField(item, 'error')
    const code = ownField(error, 'code')
    const message = ownField(error, 'message')
    const ids = ownField(item, 'id')
    if (typeof code !== 'number' || !Array.isArray(ids)) return undefined
    return { code, message: typeof message === 'string' ? message : '', ids: ids.map(String) }
  })
  return read.every((item) => item !== undefined) ? read : undefined
}

function readProblem(status: number, value: object): Problem | string {
  const title = ownField(value, 'title')
  const detail = ownField(value, 'detail')
  const code = ownField(value, 'error')
  if (typeof title !== 'string') return 'no title'
  return {
    kind: 'problem',
    status,
    title,
    detail: typeof detail === 'string' ? detail : '',
    nodeDetails: readNodeDetails(ownField(value, 'dapi_errors')),
    ...(typeof code === 'number' && { code }),
  }
}

function readNodeDetails(byNode: unknown): readonly string[] {
  if (typeof byNode !== 'object' || byNode === null) return []
  return Object.values(byNode).flatMap((problem) => ownText(problem, 'error') ?? [])
}

const NOT_FOUND = 404
const UNKNOWN_PARAMETER = /^Extra query parameter/

/** Returns whether the node has no such path or parameter. It refuses missing objects with a code. */
export function isUnknownCall(content: Content): boolean {
  if (content.kind !== 'problem' || content.code !== undefined) return false
  return content.status === NOT_FOUND || UNKNOWN_PARAMETER.test(content.detail)
}

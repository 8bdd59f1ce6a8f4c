/** Reads the bodies of the v4 layout as foreign input, in turns of the event loop. */
import type { Readable } from 'node:stream'
import { scanEnvelope } from '../../core/envelope-scan.ts'
import { parseInTurns } from '../../core/json-parse.ts'
import { textInTurns } from '../../core/long-values.ts'
import type { NodeResponse } from '../../core/node-call.ts'
import { runTask } from '../../core/turns.ts'
import { isObject, ownField, ownText } from '../../core/values.ts'

// Error codes on which the edge decides.

/** The agent does not exist. */
export const NO_AGENT = 1701
/** The node does not exist, or is not connected. */
export const NO_SUCH_NODE = 1730
/** The agent has never sent data. */
export const NO_DATABASE = 2007
/** The cluster has lost the node. */
export const UNKNOWN_NODE = 3022
/** A worker that is not connected to the master answers nothing. */
export const NO_MASTER = 3023

/** The member `error` of a response whose items have all failed, or some of them. */
export const ALL_FAILED = 1
export const SOME_FAILED = 2

/** What the body of a response is. */
export type Content = Success | NodeProblem | FileText

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

export interface FailedItems {
  readonly code: number
  readonly message: string
  readonly ids: readonly string[]
}

/** A response that refuses the whole request (`application/problem+json`). `code`: absent for faults of parameters. */
export interface NodeProblem {
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
  if (isSuccess && type !== 'application/json') return { kind: 'file', text: await textInTurns(body) }
  const value = await parseChecked(body)
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
  if (Array.isArray(items) && !items.every((item) => typeof item === 'string' || isObject(item)))
    return 'affected_items are neither objects nor texts'
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

function readProblem(status: number, value: object): NodeProblem | string {
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

const NAMED_AGENT = /no database for agent (\d+)/g

/** Returns the agents because of which the call failed: each node of the cluster names its first. */
export function agentsWithoutDatabase(content: Content | string): ReadonlySet<string> {
  if (typeof content === 'string' || content.kind !== 'problem' || content.code !== NO_DATABASE) return new Set()
  const texts = [content.detail, ...content.nodeDetails]
  return new Set(texts.flatMap((text) => [...text.matchAll(NAMED_AGENT)].map(([, id = '']) => id)))
}

/** More rows than any call can ask for. */
const MAX_ROWS = 100_000

/** Returns the object, or the reason why the body is not readable. */
async function parseChecked(body: Buffer): Promise<object | string> {
  const found = await runTask(scanEnvelope(body, 'affected_items'))
  if (found === undefined) return 'not JSON'
  const { doubled, rows } = found
  if (doubled !== undefined) return `the member ${doubled} twice`
  if (rows !== undefined && rows.ranges.length > 2 * MAX_ROWS) return `more than ${MAX_ROWS} rows`
  const value = await parseInTurns(body)
  return typeof value === 'object' && value !== null ? value : 'not a JSON object'
}

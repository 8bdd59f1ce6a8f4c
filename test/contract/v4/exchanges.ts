import { readFileSync } from 'node:fs'
import type { RecordedExchange } from '../replay/exchanges.ts'

/** A call of a node of the v4 layout and its response, recorded on a real cluster with three nodes. */
export interface V4Exchange extends RecordedExchange {
  /** The place in the file, from 1: tests name an exchange by it. */
  readonly line: number
  /** The endpoint of the v3 contract that the call replaces; `-` or a name in parentheses: none. */
  readonly v3: string
  /** The node that was called. */
  readonly node: string
  readonly user: string
  readonly note: string
}

/** The recording has placeholders for keys. This one has the form of a real key, so that it can be sent. */
const AGENT_KEY = 'c0ffee'.repeat(11).slice(0, 64)

export function recordedV4(): V4Exchange[] {
  const text = readFileSync(new URL('../exchanges/v4-layout.jsonl', import.meta.url), 'utf8')
  return text
    .replaceAll('<AGENT_KEY>', AGENT_KEY)
    .split('\n')
    .flatMap((line, index) => (line === '' ? [] : [{ ...(JSON.parse(line) as V4Exchange), line: index + 1 }]))
}

export interface FailedItem {
  readonly error: { readonly code: number; readonly message: string }
  readonly id: readonly string[]
}

/** The body of a response in the v4 layout. */
export interface V4Body {
  readonly data?: unknown
  readonly message?: string
  readonly error?: number
  readonly title?: string
  readonly detail?: string
}

export interface Affected {
  readonly affected_items: readonly unknown[]
  readonly total_affected_items: number
  readonly failed_items?: readonly FailedItem[]
}

/** Returns the parsed body, or undefined if it is no JSON object. */
export function bodyOf({ response }: V4Exchange): V4Body | undefined {
  try {
    const body = JSON.parse(response.body ?? '') as unknown
    return typeof body === 'object' && body !== null ? body : undefined
  } catch {
    return undefined
  }
}

/** Returns the list of items in the response; undefined if the response has none. */
export function affectedOf(exchange: V4Exchange): Affected | undefined {
  const data = bodyOf(exchange)?.data
  return typeof data === 'object' && data !== null && 'affected_items' in data ? (data as Affected) : undefined
}

export function failedOf(exchange: V4Exchange): readonly FailedItem[] {
  return affectedOf(exchange)?.failed_items ?? []
}

export function nameOf({ line, request, node, user }: V4Exchange): string {
  const where = node === 'master' ? '' : ` at ${node}`
  const who = user === 'wazuh' ? '' : ` as ${user}`
  return `line ${line}: ${request.method} ${request.path.slice(0, 110)}${where}${who}`
}

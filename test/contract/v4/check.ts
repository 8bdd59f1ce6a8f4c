import { deepStrictEqual } from 'node:assert'
import { byId, type Expected } from './oracle.ts'
import { inTextOrder } from './oracle-shapes.ts'
import type { Outcome } from './v3-master.ts'

interface Envelope {
  readonly error?: unknown
  readonly message?: string
  readonly data?: unknown
}

/** Returns what differs between the outcome and the expected response; undefined: nothing. */
export function differenceOf(expected: Expected, { status, text, calls, unexpected }: Outcome): string | undefined {
  const envelope = parse(text)
  if (expected.kind === 'refused') {
    const isExpected = expected.codes.includes(Number(envelope.error))
    if (calls.length > 0) return `${calls.length} calls instead of a refusal with ${expected.codes.join(' or ')}`
    return isExpected ? undefined : `refused with ${String(envelope.error)} instead of ${expected.codes}`
  }
  if (unexpected.length > 0) return `calls ${unexpected[0]}`
  // The edge may know an error without a call, such as an unknown field.
  if (expected.kind === 'error') return differenceOfError(expected, status, envelope)
  if (calls.length === 0) return `no call: ${short(text)}`
  if (status !== 200 || envelope.error !== 0) return `status ${status}: ${short(text)}`
  return differenceOfData(expected, envelope.data)
}

function parse(text: string): Envelope {
  try {
    return JSON.parse(text) as Envelope
  } catch {
    return {}
  }
}

function differenceOfError(
  expected: Extract<Expected, { kind: 'error' }>,
  status: number,
  { error, message, data }: Envelope,
): string | undefined {
  if (data !== undefined || !expected.codes.includes(Number(error))) {
    return `error ${String(error)} (${message}) instead of ${expected.codes.join(' or ')}`
  }
  if (status !== expected.status) return `status ${status} instead of ${expected.status}`
  if (typeof message !== 'string' || message === '') return 'no message'
  // The v3 layout cuts the messages of the framework at the first colon.
  return Number(error) > 999 && message.includes(':') ? `detail in the message: ${message}` : undefined
}

function differenceOfData(
  expected: Exclude<Expected, { kind: 'refused' | 'error' }>,
  data: unknown,
): string | undefined {
  switch (expected.kind) {
    case 'text':
      return typeof data === 'string' && expected.text.test(data)
        ? undefined
        : `text ${short(JSON.stringify(data))} instead of ${expected.text}`
    case 'page': {
      const { items, totalItems } = data as { readonly items: readonly unknown[]; readonly totalItems: unknown }
      const isKnown = (item: unknown) => expected.rows.some((row) => differenceOfValues(item, row) === undefined)
      if (items.length !== expected.count || totalItems !== expected.total) {
        return `${items.length} of ${String(totalItems)} rows instead of ${expected.count} of ${String(expected.total)}`
      }
      return items.every(isKnown) ? undefined : `row ${short(JSON.stringify(items.find((item) => !isKnown(item))))}`
    }
    case 'data':
      return differenceOfValues(data, expected.data)
    case 'counts':
      return differenceOfValues(inTextOrder(data), expected.data)
    case 'affected': {
      const { msg, list, done, failed, plain } = expected.data
      const { failed_ids = [], ...rest } = data as Record<string, unknown> & {
        failed_ids?: readonly (Failed | string)[]
      }
      const ids = failed_ids.map((one) =>
        typeof one === 'string' ? { id: one } : { id: one.id, code: one.error?.code },
      )
      const got = { msg: rest.msg, done: [...(rest[list] as string[])].sort(), failed: byId(ids) }
      return differenceOfValues(got, { msg, done, failed: plain ? failed.map(({ id }) => ({ id })) : failed })
    }
  }
}

interface Failed {
  readonly id: string
  readonly error?: { readonly code: number }
}

/** The order of keys does not count. */
function differenceOfValues(got: unknown, wanted: unknown): string | undefined {
  const normal = (value: unknown) => JSON.parse(JSON.stringify(value ?? null)) as unknown
  try {
    deepStrictEqual(normal(got), normal(wanted))
    return undefined
  } catch {
    return firstDifference(normal(got), normal(wanted), 'data')
  }
}

function firstDifference(got: unknown, wanted: unknown, path: string): string {
  const isTree = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
  if (!isTree(got) || !isTree(wanted) || Array.isArray(got) !== Array.isArray(wanted)) {
    return `${path} is ${short(JSON.stringify(got))} instead of ${short(JSON.stringify(wanted))}`
  }
  const name = [...new Set([...Object.keys(got), ...Object.keys(wanted)])].find(
    (key) => JSON.stringify(ordered(got[key])) !== JSON.stringify(ordered(wanted[key])),
  )
  return name === undefined ? `${path} differs` : firstDifference(got[name], wanted[name], `${path}.${name}`)
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== 'object' || value === null) return value
  const sorted = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([key, inner]) => [key, ordered(inner)]))
}

const short = (text: string | undefined) => (text ?? 'nothing').slice(0, 160)

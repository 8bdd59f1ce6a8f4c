/** What calls answer: a list of affected objects with the failed ones, bare data, a text, or a file. */
import type { V4Error } from './errors.ts'

export interface Failed {
  /** Text, or the number of a rule. */
  readonly id: string | number
  readonly error: V4Error
}

export interface Texts {
  readonly all: string
  readonly some: string
  readonly none: string
}

export interface Affected {
  readonly kind: 'affected'
  readonly items: readonly unknown[]
  /** Of all pages. */
  readonly total: number
  readonly failed: readonly Failed[]
  /** In place of the texts of the call. */
  readonly texts?: Texts
}

export type Answer =
  | Affected
  /** `data` is this value. */
  | { readonly kind: 'data'; readonly data: unknown; readonly message?: string }
  /** No data, only a message. */
  | { readonly kind: 'text'; readonly message: string }
  | { readonly kind: 'file'; readonly text: string; readonly type: 'application/xml' | 'text/plain' }

export function affected(
  items: readonly unknown[],
  { total = items.length, failed = [] }: { readonly total?: number; readonly failed?: readonly Failed[] } = {},
): Affected {
  return { kind: 'affected', items, total, failed }
}

/** A number that is written with a decimal point, as a whole number of the manager's type `float`. */
export class Float {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }

  toJSON(): string {
    return `${FLOAT_MARK}${Number.isInteger(this.value) ? this.value.toFixed(1) : this.value}`
  }
}

const FLOAT_MARK = '\u0001float '
const WRITTEN_FLOAT = /"\\u0001float ([^"]+)"/g

export function toJson(value: unknown): string {
  const text = JSON.stringify(value)
  return text.includes('\\u0001float ') ? text.replaceAll(WRITTEN_FLOAT, '$1') : text
}

/** Returns the body of a successful response; `error` says whether all, some or no targets succeeded. */
export function envelopeOf(answer: Exclude<Answer, { kind: 'file' }>, callTexts: Texts): unknown {
  if (answer.kind === 'text') return { message: answer.message, error: 0 }
  if (answer.kind === 'data') {
    const { data, message } = answer
    return { data, ...(message !== undefined && { message }), error: 0 }
  }
  const { items, total, failed, texts = callTexts } = answer
  const data = {
    affected_items: items,
    total_affected_items: total,
    total_failed_items: failed.length,
    failed_items: groupFailed(failed),
  }
  if (failed.length === 0) return { data, message: total > 0 ? texts.all : texts.none, error: 0 }
  return total > 0 ? { data, message: texts.some, error: 2 } : { data, message: texts.none, error: 1 }
}

/** One element for each error, with all targets that failed with it. */
function groupFailed(failed: readonly Failed[]): unknown[] {
  const groups = new Map<string, { error: V4Error; ids: Set<string | number> }>()
  for (const { id, error } of failed) {
    const key = `${error.code} ${error.message}`
    const group = groups.get(key) ?? { error, ids: new Set() }
    group.ids.add(id)
    groups.set(key, group)
  }
  return [...groups.values()]
    .sort((a, b) => a.error.code - b.error.code)
    .map(({ error, ids }) => ({ error: errorOf(error), id: [...ids].sort(byNumber) }))
}

/** Ids of agents and rules by their number, other names as texts. */
function byNumber(a: string | number, b: string | number): number {
  const order = Number(a) - Number(b)
  return Number.isNaN(order) ? (a < b ? -1 : 1) : order
}

function errorOf({ code, message, remediation }: V4Error): unknown {
  return { code, message, ...(remediation === undefined ? {} : { remediation }) }
}

/** What the engine of a manager answers to a collection request. */
export type EngineRow = Readonly<Record<string, unknown>>
export type EngineItem = EngineRow | string

export type Outcome =
  | {
      readonly kind: 'page'
      readonly items: readonly EngineItem[]
      readonly totalItems: number
      /** What the sort of a database leaves to chance: the order of its rows, but not the values that it sorts by. */
      readonly chance?: Chance
    }
  | { readonly kind: 'error'; readonly code: number }
  /** The known facts do not determine the answer: a program that answers in place of a node must not answer this. */
  | { readonly kind: 'undetermined'; readonly why: string }

export interface Chance {
  readonly kind: 'ties' | 'precedence'
  /** The columns of the sort, in the order in which they are named. */
  readonly fields: readonly string[]
}

/** The names of query parameters that are no filters. */
export const COMMON_PARAMETERS: readonly string[] = ['offset', 'limit', 'sort', 'search', 'select', 'q']

export class EngineError extends Error {
  readonly code: number

  constructor(code: number) {
    super(`engine error ${code}`)
    this.code = code
  }
}

export class Undetermined extends Error {}

/** Returns the outcome of `run`, with its errors as outcomes. */
export function outcomeOf(run: () => Outcome): Outcome {
  try {
    return run()
  } catch (fault) {
    if (fault instanceof EngineError) return { kind: 'error', code: fault.code }
    if (fault instanceof Undetermined) return { kind: 'undetermined', why: fault.message }
    throw fault
  }
}

export interface ParsedSort {
  readonly descending: boolean
  readonly fields: readonly string[]
}

/** The first character is the sign of the whole list. */
export function parseSort(text: string): ParsedSort {
  const rest = text.replace(/^[-+ ]/, '')
  const fields = rest.split(',').map((field) => field.trim())
  return { descending: text.startsWith('-'), fields: fields.filter((field) => field !== '') }
}

export interface ParsedSearch {
  readonly negated: boolean
  readonly text: string
}

export function parseSearch(text: string): ParsedSearch {
  const negated = text.startsWith('!')
  const rest = (negated ? text.slice(1) : text).trim()
  const quoted = rest.length > 1 && rest.startsWith('"') && rest.endsWith('"')
  return { negated, text: quoted ? rest.slice(1, -1) : rest }
}

/**
 * The grammar of the query parameter `q`:
 *
 *     any       = all *( "," all )          ";" binds tighter than ","
 *     all       = term *( ";" term )
 *     term      = "(" any ")" / condition
 *     condition = field operator value
 *
 * The parser is a recursive descent in one pass, so its time is linear in the length of the text. Unlike the pattern of
 * the real API it requires balanced parentheses; the manager fails on unbalanced ones with 1000. Two operators in a row
 * (`a=<b`) are refused as the pattern of the real API refuses them.
 */
export type Operator = '=' | '!=' | '<' | '>' | '~'

export type Query =
  | { readonly kind: 'condition'; readonly field: string; readonly operator: Operator; readonly value: string }
  | { readonly kind: 'all' | 'any'; readonly of: readonly Query[] }

export type Condition = Extract<Query, { kind: 'condition' }>

interface QueryLimits {
  readonly characters: number
  readonly conditions: number
}

/** For the `q` of a client. The manager has no limits: the edge itself sends it a `q` for a hundred agents. */
const CLIENT_LIMITS: QueryLimits = { characters: 1024, conditions: 32 }
/** For a `q` of a client that was checked before, and for one of the edge. */
export const NO_LIMITS: QueryLimits = { characters: Number.POSITIVE_INFINITY, conditions: Number.POSITIVE_INFINITY }
const MAX_PARENTHESES_DEPTH = 16

/** Parses `q`; `undefined`: it is invalid, or exceeds the limits. */
export function parseQuery(text: string, { characters, conditions }: QueryLimits = CLIENT_LIMITS): Query | undefined {
  if (text.length > characters) return undefined
  const parser = new Parser(text, conditions)
  const query = parser.any(0)
  return parser.atEnd() ? query : undefined
}

export function conditionsOf(query: Query): readonly Condition[] {
  return query.kind === 'condition' ? [query] : query.of.flatMap(conditionsOf)
}

/** Returns the conditions of `q`; none if it is absent or invalid. */
export function conditionsIn(q: string | undefined): readonly Condition[] {
  const query = q === undefined ? undefined : parseQuery(q)
  return query === undefined ? [] : conditionsOf(query)
}

/** Returns a text that parses to the same query. */
export function printQuery(query: Query): string {
  if (query.kind === 'condition') return query.field + query.operator + query.value
  const isAny = query.kind === 'any'
  const parts = query.of.map((part) => {
    const needsNone = part.kind === 'condition' || (isAny && part.kind === 'all')
    return needsNone ? printQuery(part) : `(${printQuery(part)})`
  })
  return parts.join(isAny ? ',' : ';')
}

/** Methods return `undefined` on an error. */
class Parser {
  readonly #text: string
  readonly #maxConditions: number
  #conditions = 0
  #at = 0

  constructor(text: string, maxConditions: number) {
    this.#text = text
    this.#maxConditions = maxConditions
  }

  atEnd(): boolean {
    return this.#at === this.#text.length
  }

  any(depth: number): Query | undefined {
    return this.#joined('any', ',', () => this.#joined('all', ';', () => this.#term(depth)))
  }

  #joined(kind: 'all' | 'any', separator: string, part: () => Query | undefined): Query | undefined {
    const of: Query[] = []
    do {
      const next = part()
      if (!next) return undefined
      of.push(next)
    } while (this.#take(separator))
    return of.length === 1 ? of[0] : { kind, of }
  }

  #term(depth: number): Query | undefined {
    if (!this.#take('(')) return this.#condition()
    const inner = depth === MAX_PARENTHESES_DEPTH ? undefined : this.any(depth + 1)
    return this.#take(')') ? inner : undefined
  }

  #condition(): Query | undefined {
    if (++this.#conditions > this.#maxConditions) return undefined
    const field = this.#match(/[A-Za-z0-9_.-]+/y)
    const operator = this.#match(/=|!=|<|>|~/y)
    const value = this.#match(/[A-Za-z0-9_. -]+/y)
    if (field === undefined || operator === undefined || value === undefined) return undefined
    return { kind: 'condition', field, operator: operator as Operator, value }
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false
    this.#at++
    return true
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    this.#at += found?.length ?? 0
    return found
  }
}

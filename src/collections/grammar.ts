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

/** `at`: the position of the error in characters from 0. */
type ParseResult =
  | { readonly ok: true; readonly query: Query }
  | { readonly ok: false; readonly at: number; readonly expected: string }

interface QueryLimits {
  readonly characters: number
  readonly conditions: number
}

/** For the `q` of a client. The manager has no limits: the edge itself sends it a `q` for a hundred agents. */
const CLIENT_LIMITS: QueryLimits = { characters: 1024, conditions: 32 }
/** For a `q` of a client that was checked before, and for one of the edge. */
export const NO_LIMITS: QueryLimits = { characters: Number.POSITIVE_INFINITY, conditions: Number.POSITIVE_INFINITY }
const MAX_PARENTHESES_DEPTH = 16

/** Parses `q`; an error has the position and what was expected there. */
export function parseQuery(text: string, limits: QueryLimits = CLIENT_LIMITS): ParseResult {
  const { characters } = limits
  if (text.length > characters) return { ok: false, at: characters, expected: `at most ${characters} characters` }
  const parser = new Parser(text, limits.conditions)
  const query = parser.any(0)
  if (query && parser.atEnd()) return { ok: true, query }
  return { ok: false, at: parser.at, expected: parser.expected ?? '; or , or the end' }
}

export function conditionsOf(query: Query): readonly Condition[] {
  return query.kind === 'condition' ? [query] : query.of.flatMap(conditionsOf)
}

/** Returns the conditions of `q`; none if it is absent or invalid. */
export function conditionsIn(q: string | undefined): readonly Condition[] {
  const parsed = q === undefined ? undefined : parseQuery(q)
  return parsed?.ok ? conditionsOf(parsed.query) : []
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

/** Methods return `undefined` on an error; `at` and `expected` then hold its position and reason. */
class Parser {
  readonly #text: string
  readonly #maxConditions: number
  #conditions = 0
  at = 0
  expected: string | undefined

  constructor(text: string, maxConditions: number) {
    this.#text = text
    this.#maxConditions = maxConditions
  }

  atEnd(): boolean {
    return this.at === this.#text.length
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
    if (depth === MAX_PARENTHESES_DEPTH)
      return this.#refuse(`at most ${MAX_PARENTHESES_DEPTH} parentheses inside each other`, -1)
    const inner = this.any(depth + 1)
    if (!inner) return undefined
    return this.#take(')') ? inner : this.#refuse(')')
  }

  #condition(): Query | undefined {
    if (++this.#conditions > this.#maxConditions) return this.#refuse(`at most ${this.#maxConditions} conditions`)
    const field = this.#match(/[A-Za-z0-9_.-]+/y)
    if (!field) return this.#refuse('a field or (')
    const operator = this.#match(/=|!=|<|>|~/y)
    if (!operator) return this.#refuse('one of = != < > ~')
    const value = this.#match(/[A-Za-z0-9_. -]+/y)
    if (!value) return this.#refuse('a value')
    return { kind: 'condition', field, operator: operator as Operator, value }
  }

  #take(character: string): boolean {
    if (this.#text[this.at] !== character) return false
    this.at++
    return true
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.#text)?.[0]
    this.at += found?.length ?? 0
    return found
  }

  #refuse(expected: string, offset = 0): undefined {
    this.at += offset
    this.expected = expected
  }
}

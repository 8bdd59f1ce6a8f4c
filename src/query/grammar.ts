/**
 * The grammar of `q` (contract/endpoints.yaml, validators.query):
 *
 *     any       = all *( "," all )          ";" binds tighter than ","
 *     all       = term *( ";" term )
 *     term      = "(" any ")" / condition
 *     condition = field operator value
 *
 * Read by recursive descent in one pass, so that no text takes longer than its length. The real filter does
 * not count parentheses; here they must balance, since what does not balance means nothing to the manager
 * either (it answers 1000). Two operators in a row, `a=<b`, are refused as the real filter refuses them:
 * a value has no `<`, so the manager's own 1409 for them can never be seen.
 */
export type Operator = '=' | '!=' | '<' | '>' | '~'

export type Query =
  | { readonly kind: 'condition'; readonly field: string; readonly operator: Operator; readonly value: string }
  | { readonly kind: 'all' | 'any'; readonly of: readonly Query[] }

export type Parsed =
  | { readonly ok: true; readonly query: Query }
  | { readonly ok: false; readonly at: number; readonly expected: string }

const LONGEST = 1024
const MOST_CONDITIONS = 32
const DEEPEST = 16

/** Reads the text of `q`; a refusal names the place (in characters from 0) and what was expected there. */
export function parseQuery(text: string): Parsed {
  if (text.length > LONGEST) return { ok: false, at: LONGEST, expected: `at most ${LONGEST} characters` }
  const reader = new Reader(text)
  const query = reader.any(0)
  if (query && reader.atEnd()) return { ok: true, query }
  return { ok: false, at: reader.at, expected: reader.expected ?? '; or , or the end' }
}

/** The text that reads back as the same query. */
export function printQuery(query: Query): string {
  if (query.kind === 'condition') return query.field + query.operator + query.value
  const loose = query.kind === 'any' ? 'any' : undefined
  const parts = query.of.map((part) => {
    const bare = part.kind === 'condition' || (loose && part.kind === 'all')
    return bare ? printQuery(part) : `(${printQuery(part)})`
  })
  return parts.join(loose ? ',' : ';')
}

/** `undefined` from a method means refused: `at` and `expected` then say where and why. */
class Reader {
  readonly #text: string
  #conditions = 0
  at = 0
  expected: string | undefined

  constructor(text: string) {
    this.#text = text
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
    if (depth === DEEPEST) return this.#refuse(`at most ${DEEPEST} parentheses inside each other`, -1)
    const inner = this.any(depth + 1)
    if (!inner) return undefined
    return this.#take(')') ? inner : this.#refuse(')')
  }

  #condition(): Query | undefined {
    if (++this.#conditions > MOST_CONDITIONS) return this.#refuse(`at most ${MOST_CONDITIONS} conditions`)
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

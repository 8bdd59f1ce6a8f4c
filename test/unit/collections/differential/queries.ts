/** Random queries: most of them are valid and find something, a few have one fault or several. */
import fc from 'fast-check'
import type { Condition, Operator, Query, Tree } from './query.ts'

/** What queries of one collection are made of. */
export interface Vocabulary {
  readonly fields: readonly string[]
  /** Texts that the grammar of `q` accepts are used as values of conditions too. */
  readonly valuesOf: (field: string) => readonly string[]
  /** Named parameters and their values. */
  readonly filters: Readonly<Record<string, readonly string[]>>
  readonly searches: readonly string[]
  /** Most requests of the collection with `select` are refused. */
  readonly refusesSelect?: true
}

const SIGNS = ['', '+', '-', ' '] as const
const OPERATORS: readonly Operator[] = ['=', '!=', '<', '>', '~']
/** What `q` accepts as a value; other characters are refused before a collection is read (622). */
const CONDITION_VALUE = /^[A-Za-z0-9_. -]+$/
/** Characters that the API refuses in a search (612). */
const UNSEARCHABLE = /[;|&^*>"]/
/** Half of a surrogate pair, which no URL can contain. */
const HALF_CHARACTER = /\p{Surrogate}/u

/** `percent`: how often the first one is used. */
function usually<A, B>(first: fc.Arbitrary<A>, second: fc.Arbitrary<B>, percent = 97): fc.Arbitrary<A | B> {
  return fc.oneof<fc.WeightedArbitrary<A | B>[]>(
    { weight: percent, arbitrary: first },
    { weight: 100 - percent, arbitrary: second },
  )
}

/** `percent`: how many of a hundred queries have the part. */
function sometimes<T>(percent: number, part: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return usually(part, fc.constant(undefined), percent)
}

export function queriesOf(vocabulary: Vocabulary): fc.Arbitrary<Query> {
  const { fields, searches, refusesSelect } = vocabulary
  const field = usually(fc.constantFrom(...fields), fc.constant('nope'))
  const texts = [...searches, ...searches.map((text) => text.slice(1, 3))].filter(
    (text) => !UNSEARCHABLE.test(text) && !HALF_CHARACTER.test(text),
  )
  const limit = usually(fc.constantFrom(1, 2, 3, 500, 1000), fc.constantFrom(0, 1001))
  const sort = fc.record({
    sign: fc.constantFrom(...SIGNS),
    fields: fc.array(field, { maxLength: 3 }),
  })
  const search = fc.record({ negated: fc.boolean(), quoted: fc.boolean(), text: fc.constantFrom(...texts) })
  const select = fc.array(field, { minLength: 1, maxLength: 4 })
  const filters = fc.uniqueArray(filtersOf(vocabulary), { maxLength: 2, selector: ([name]) => name })
  const parts = {
    offset: sometimes(30, fc.constantFrom(0, 1, 2, 5, 1000)),
    limit: sometimes(40, limit),
    sort: sometimes(50, sort),
    search: sometimes(25, search),
    select: sometimes(refusesSelect ? 2 : 30, select),
    q: sometimes(40, treesOf(vocabulary, field)),
    filters: usually(fc.constant([]), filters, 60),
  }
  return fc
    .record(parts)
    .map(
      (query) => Object.fromEntries(Object.entries(query).filter(([, part]) => part !== undefined)) as unknown as Query,
    )
}

/** One value or several of a named parameter. */
function filtersOf({ filters }: Vocabulary): fc.Arbitrary<readonly [string, string]> {
  return fc.constantFrom(...Object.entries(filters)).chain(([name, values]) => {
    const value = fc.constantFrom(...values)
    const several = fc.array(value, { minLength: 2, maxLength: 3 }).map((list) => list.join(','))
    return usually(value, several, 80).map((text) => [name, text] as const)
  })
}

function treesOf({ valuesOf }: Vocabulary, field: fc.Arbitrary<string>): fc.Arbitrary<Tree> {
  const condition: fc.Arbitrary<Condition & { redundant: boolean }> = field.chain((name) => {
    const values = [...valuesOf(name), 'all', 'null', ' 7', '007', '1e1', '-3', '2.5', '.5', '5.', '0x1', '_', 'none']
    return fc.record({
      field: fc.constant(name),
      operator: fc.constantFrom(...OPERATORS),
      value: fc.constantFrom(...values.filter((value) => CONDITION_VALUE.test(value))),
      redundant: fc.boolean(),
    })
  })
  return fc.letrec<{ tree: Tree }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      condition,
      fc.record({
        join: fc.constantFrom(';' as const, ',' as const),
        of: fc.array(tie('tree'), { minLength: 2, maxLength: 3 }),
        redundant: fc.boolean(),
      }),
    ),
  })).tree
}

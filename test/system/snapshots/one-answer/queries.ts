/** Random queries of one collection, made of its parameters and of values that its rows have. */
import fc from 'fast-check'
import type { Endpoint } from '../../../../src/contracts/endpoint.ts'
import type { EngineItem } from '../../../support/engine/outcome.ts'

export type RandomQuery = Readonly<Record<string, string>>

const LIMITS = ['1', '2', '7', '19', '20', '21', '40', '127', '128', '129', '499', '500', '501', '999', '1000']
const OFFSETS = ['0', '1', '5', '19', '20', '21', '128', '500', '2000']
const FRAMES = ['1d', '7d', '20m', '3h', '45s', '1d2h', '0', '3600']
const CONDITION_TEXT = /^[A-Za-z0-9_. -]+$/
const UNSEARCHABLE = /[;|&^*>"\n]/
const FLAGS = ['download', 'summary']

/** `percent` of all queries have the part. */
function sometimes(percent: number, part: fc.Arbitrary<string>): fc.Arbitrary<string | undefined> {
  return fc.oneof({ weight: percent, arbitrary: part }, { weight: 100 - percent, arbitrary: fc.constant(undefined) })
}

interface Words {
  /** In front of a search. */
  readonly negation: string
  /** The members of rows whose values parameters take, if they have other names. */
  readonly members: Readonly<Record<string, string>>
}

const V3: Words = { negation: '!', members: {} }

/**
 * `rows`: some rows as the API returns them. `fields`: the names for `sort`, `select` and `q`. In some queries most names are
 * wrong, because the first of several errors must be the same one everywhere.
 */
export function queriesOf(
  record: Endpoint,
  rows: readonly EngineItem[],
  fields: readonly string[],
  words: Words = V3,
): fc.Arbitrary<RandomQuery> {
  const known = fc.constantFrom(...(fields.length > 0 ? fields : ['name']))
  const withWrong = (percent: number) => {
    const wrong = fc.constant('nope')
    const field = fc.oneof({ weight: 100 - percent, arbitrary: known }, { weight: percent, arbitrary: wrong })
    return queriesWith(field, record, rows, words)
  }
  return fc.oneof(
    { weight: 90, arbitrary: withWrong(3) },
    { weight: 5, arbitrary: withWrong(60) },
    { weight: 5, arbitrary: fc.tuple(withWrong(3), alternativesBeside(known, record, rows)).map(merged) },
  )
}

/**
 * Returns each part of a query that may lead the database to another index (a filter, a field of `q`, a search, a sort in
 * both directions, a selected field) alone, each selected field with the next one, and each filter with a sort, a selected
 * field and another filter, in turn.
 */
export function everyPart(
  { query }: Endpoint,
  rows: readonly EngineItem[],
  fields: readonly string[],
  { members }: Words = V3,
): readonly RandomQuery[] {
  const cells = cellsOf(rows)
  const takes = (name: string) => Object.hasOwn(query, name)
  const partsOf = (name: string, values: readonly string[]) =>
    takes(name) ? values.map((each) => ({ [name]: each })) : []
  const oftenIn = (name: string): string | undefined => {
    const { allowed = [], value } = query[name] ?? {}
    const words = value?.type === 'string' ? (value.words ?? []) : []
    // A value of most rows leaves most to the index.
    const often = rows.flatMap((row) => cellsOf([row]).get(members[name] ?? name)?.[0] ?? [])
    return mostOf(often) ?? [...allowed, ...words][0]
  }
  const others = Object.keys(query).filter(
    (name) => !COMMON.includes(name) && !FLAGS.includes(name) && name !== 'agent_id' && name !== 'hash',
  )
  const filters = others.flatMap((name) => {
    const value = name === 'older_than' ? '1d' : oftenIn(name)
    return value === undefined ? [] : [{ [name]: value }]
  })
  const sorts = partsOf(
    'sort',
    fields.flatMap((field) => [`+${field}`, `-${field}`]),
  )
  const selects = partsOf('select', fields)
  const pairs = partsOf(
    'select',
    fields.map((field, at) => `${field},${fields[(at + 1) % fields.length]}`),
  )
  const conditions = partsOf(
    'q',
    fields.flatMap((field) => {
      const value = mostOf((cells.get(field) ?? []).filter((each) => CONDITION_TEXT.test(each)))
      // A field without a value may have one in the node.
      if (value === undefined) return [`${field}!=nothing`, `${field}=null`]
      const comparisons = ['=', '~', '<', '>'].map((operator) => `${field}${operator}${value}`)
      return [...comparisons, `${field}!=nothing`, `${field}~${value.slice(0, 2)}`, `${field}=null`]
    }),
  )
  const conditional: readonly RandomQuery[] = [...filters, ...conditions, ...partsOf('search', ['a', '1'])]
  const beside = (parts: readonly RandomQuery[]) =>
    conditional.flatMap((condition, at) => (parts.length === 0 ? [] : [{ ...parts[at % parts.length], ...condition }]))
  return [
    ...[...conditional, ...sorts, ...selects, ...pairs],
    ...[...beside(sorts), ...beside(sorts.toReversed()), ...beside(selects), ...beside(filters.toReversed())],
    ...sorts.map((sort, at) => ({ ...sort, ...selects[at % Math.max(1, selects.length)] })),
  ].map((parts, at): RandomQuery => ({ ...parts, limit: at % 2 === 0 ? '1' : '20' }))
}

const COMMON: readonly string[] = ['offset', 'limit', 'sort', 'search', 'select', 'q']

function mostOf(values: readonly string[]): string | undefined {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0]
}

function merged(queries: readonly RandomQuery[]): RandomQuery {
  return Object.assign({}, ...queries)
}

/** An OR in `q` beside a search: whether the OR counts as enclosed shows only with another condition. */
function alternativesBeside(
  field: fc.Arbitrary<string>,
  { query }: Endpoint,
  rows: readonly EngineItem[],
): fc.Arbitrary<RandomQuery> {
  if (!Object.hasOwn(query, 'q') || !Object.hasOwn(query, 'search')) return fc.constant({})
  const cells = cellsOf(rows)
  const alternatives = fc.array(
    conditions(field, (name) => cells.get(name) ?? []),
    { minLength: 2, maxLength: 3 },
  )
  return fc.record({ q: alternatives.map((list) => list.join(',')), search: searches([...cells.values()].flat(), '') })
}

function queriesWith(
  field: fc.Arbitrary<string>,
  record: Endpoint,
  rows: readonly EngineItem[],
  { negation, members }: Words,
): fc.Arbitrary<RandomQuery> {
  const cells = cellsOf(rows)
  const valuesOf = (name: string) => cells.get(name) ?? []
  const all = [...cells.values()].flat()
  const parts: Record<string, fc.Arbitrary<string | undefined>> = {
    offset: sometimes(25, fc.constantFrom(...OFFSETS)),
    limit: sometimes(
      50,
      fc.oneof(
        { weight: 97, arbitrary: fc.constantFrom(...LIMITS) },
        { weight: 3, arbitrary: fc.constantFrom('0', '1001') },
      ),
    ),
    sort: sometimes(35, sorts(field)),
    search: sometimes(25, searches(all, negation)),
    select: sometimes(
      25,
      fc.array(field, { minLength: 1, maxLength: 4 }).map((names) => names.join(',')),
    ),
    q: sometimes(40, expressions(field, valuesOf)),
  }
  for (const [name, param] of Object.entries(record.query)) {
    if (name in parts || FLAGS.includes(name) || name === 'agent_id') continue
    const words = param.value?.type === 'string' ? param.value.words : undefined
    const values = [...(param.allowed ?? words ?? []), ...valuesOf(members[name] ?? name).slice(0, 40)]
    parts[name] = sometimes(12, filterValues(name, values.map(String)))
  }
  const named = Object.entries(parts).filter(([name]) => Object.hasOwn(record.query, name))
  return fc.record(Object.fromEntries(named)).map((query) => {
    return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)) as RandomQuery
  })
}

/** Values by the names that parameters have: dotted and with underscores for nested members. */
function cellsOf(rows: readonly EngineItem[]): ReadonlyMap<string, readonly string[]> {
  const cells = new Map<string, Set<string>>()
  for (const row of rows) {
    for (const [name, value] of typeof row === 'string' ? [['text', row] as const] : leaves(row)) {
      cells.set(name, (cells.get(name) ?? new Set()).add(value))
    }
  }
  return new Map([...cells].map(([name, values]) => [name, [...values]]))
}

function leaves(value: unknown, name = ''): (readonly [string, string])[] {
  if (value === null || value === undefined) return []
  if (Array.isArray(value)) return value.flatMap((each) => leaves(each, name))
  if (typeof value !== 'object') return [[name, String(value)]]
  return Object.entries(value).flatMap(([part, inner]) => {
    return name === '' ? leaves(inner, part) : ['.', '_'].flatMap((joint) => leaves(inner, name + joint + part))
  })
}

function sorts(field: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const names = fc.oneof(
    { weight: 75, arbitrary: field.map((name) => [name]) },
    { weight: 20, arbitrary: fc.array(field, { minLength: 2, maxLength: 3 }) },
    { weight: 5, arbitrary: fc.constant([]) },
  )
  return fc.tuple(fc.constantFrom('', '+', '-'), names).map(([sign, list]) => sign + list.join(',') || '+')
}

/** Parts of values, of dates in both of their forms, of numbers; wildcards and what an engine may stumble over. */
function searches(values: readonly string[], negation: string): fc.Arbitrary<string> {
  const dates = values.filter((value) => /^\d{4}-\d\d-\d\d /.test(value))
  const epochs = dates.slice(0, 20).map((date) => String(Date.parse(`${date.replace(' ', 'T')}Z`) / 1000))
  const pool = [...values, ...dates, ...epochs].filter((value) => value.length > 0)
  const part = fc
    .tuple(fc.constantFrom(...(pool.length > 0 ? pool : ['a'])), fc.nat(12), fc.integer({ min: 1, max: 5 }))
    .map(([text, at, length]) => [...text].slice(at % [...text].length, (at % [...text].length) + length).join(''))
  const odd = fc.constantFrom(
    '_',
    '%',
    'a%',
    "it's",
    ':limit',
    'é',
    'MÜLLER',
    'true',
    'none',
    'k',
    '25-',
    '202',
    '12:',
    'DE',
    '01',
  )
  const text = fc
    .oneof({ weight: 75, arbitrary: part }, { weight: 25, arbitrary: odd })
    .map((found) => found.replace(UNSEARCHABLE, '') || 'a')
  return fc.tuple(fc.boolean(), fc.boolean(), fc.boolean(), text).map(([negated, also, quoted, found]) => {
    return `${negated && also ? negation : ''}${quoted && also ? `"${found}"` : found}`
  })
}

function filterValues(name: string, values: readonly string[]): fc.Arbitrary<string> {
  if (name === 'older_than') return fc.constantFrom(...FRAMES)
  if (name === 'level') return fc.constantFrom('3', '2-5', '0-15', '12-3')
  const one = fc.oneof(
    { weight: 85, arbitrary: fc.constantFrom(...(values.length > 0 ? values : ['other'])) },
    { weight: 15, arbitrary: fc.constantFrom('all', 'null', 'other', '', '007', 'Active') },
  )
  const several = fc.array(one, { minLength: 2, maxLength: 3 }).map((list) => list.join(','))
  return fc.oneof({ weight: 80, arbitrary: one }, { weight: 20, arbitrary: several })
}

interface Tree {
  readonly text: string
  readonly isOr: boolean
}

type ValuesOf = (name: string) => readonly string[]

function conditions(field: fc.Arbitrary<string>, valuesOf: ValuesOf): fc.Arbitrary<string> {
  return field.chain((name) => {
    const own = valuesOf(name).flatMap((value) => [value, value.slice(0, 3), value.slice(0, 10)])
    const usable = own.filter((value) => CONDITION_TEXT.test(value)).slice(0, 60)
    const odd = ['all', 'null', '007', '7', 'outstandi', 'active', 'neverconnected', '2026-11-20', ...FRAMES]
    const value = fc.oneof(
      { weight: 75, arbitrary: fc.constantFrom(...(usable.length > 0 ? usable : ['1'])) },
      { weight: 25, arbitrary: fc.constantFrom(...odd) },
    )
    const operator = fc.constantFrom('=', '=', '!=', '<', '>', '~')
    return fc.tuple(operator, value).map(([sign, text]) => name + sign + text)
  })
}

function expressions(field: fc.Arbitrary<string>, valuesOf: ValuesOf): fc.Arbitrary<string> {
  const condition = conditions(field, valuesOf).map((text): Tree => ({ text, isOr: false }))
  return fc
    .letrec<{ tree: Tree }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 3, depthSize: 'small' },
        condition,
        fc
          .record({
            join: fc.constantFrom(';', ','),
            of: fc.array(tie('tree'), { minLength: 2, maxLength: 3 }),
            bare: fc.nat(9),
          })
          .map(joined),
      ),
    }))
    .tree.map(({ text }) => text)
}

/** Alternatives within conjunctions mostly have parentheses; some expressions have redundant or missing ones. */
function joined({
  join,
  of,
  bare,
}: {
  readonly join: string
  readonly of: readonly Tree[]
  readonly bare: number
}): Tree {
  const parts = of.map(({ text, isOr }) => (isOr && join === ';' && bare > 0 ? `(${text})` : text))
  const text = parts.join(join)
  return { text: bare === 9 ? `(${text})` : text, isOr: join === ',' && bare !== 9 }
}

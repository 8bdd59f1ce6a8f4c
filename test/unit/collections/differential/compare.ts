/** Compares `src/collections` with the test oracles for random rows and random queries of one collection. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { collect, matchRows } from '../../../../packages/simulator/src/data/collect.ts'
import { collectInTurns } from '../../../../src/collections/collect.ts'
import { isComputable } from '../../../../src/collections/computable.ts'
import { answerFrom } from '../../../../src/collections/queried-rows.ts'
import { CollectionError, type CollectionRequest, parseCollectionRequest } from '../../../../src/collections/request.ts'
import { flattenRow } from '../../../../src/collections/select.ts'
import { type Source, sources } from '../../../../src/collections/sources.ts'
import type { Element, Row } from '../../../../src/collections/value.ts'
import type { Collection } from '../../../../src/contracts/endpoint.ts'
import { collections } from '../../../support/engine/arrays.ts'
import { snapshotOf } from '../../../support/snapshots.ts'
import { answerOfManager } from './array-manager.ts'
import { answerOf, type Item } from './array-oracle.ts'
import { arrayVocabulary, itemsOf } from './array-rows.ts'
import { queriesOf, type Vocabulary } from './queries.ts'
import { type Expected, NOW, printParameters, type Query } from './query.ts'
import { type FlatRow, MEMBERS, nestedRow, rowsOf, TEXTS, TIMES } from './rows.ts'
import { SqliteOracle } from './sqlite.ts'
import { type Table, tables } from './tables.ts'

/** Loading rows costs more than a query. */
const QUERIES_PER_ROWS = 10
/** So that most snapshots have several parts. */
const ROWS_PER_PART = 5

export interface Comparison {
  readonly queries: number
  readonly seed: number
  /** Pages that were not empty, and refused queries: a comparison of empty pages shows nothing. */
  readonly found: number
  readonly refused: number
  /** Why they differ, with the smallest rows and query that do. */
  readonly difference?: string
}

export const sourceNames = Object.keys(sources) as Collection[]

type Check = (rows: readonly unknown[], query: Query) => Promise<Expected>

interface Subject {
  readonly rows: fc.Arbitrary<readonly unknown[]>
  readonly queries: fc.Arbitrary<Query>
  /** Loads rows into the oracle and returns the comparison for one query. Throws on a difference. */
  readonly check: Check
}

export async function compareSource(name: Collection, queries: number, seed: number): Promise<Comparison> {
  const { rows, queries: query, check } = subjectOf(name)
  let [done, found, refused] = [0, 0, 0]
  const property = fc.asyncProperty(
    rows,
    fc.array(query, { minLength: QUERIES_PER_ROWS, maxLength: QUERIES_PER_ROWS }),
    async (given, wanted) => {
      for (const each of wanted) {
        const expected = await check(given, each).catch((error: Error) => {
          throw new Error(`${error.message}\n  query ${JSON.stringify(each)}\n  rows ${JSON.stringify(given)}`)
        })
        done += 1
        if ('codes' in expected) refused += 1
        else if (expected.page.items.length > 0) found += 1
      }
    },
  )
  const details = await fc.check(property, { seed, numRuns: Math.ceil(queries / QUERIES_PER_ROWS) })
  const { errorInstance } = details
  return {
    queries: done,
    seed,
    found,
    refused,
    ...(errorInstance instanceof Error && { difference: errorInstance.message }),
  }
}

function subjectOf(name: Collection): Subject {
  const source: Source = sources[name]
  const [table, collection] = [tables[name], collections[name]]
  if (table) return databaseSubject(name, source, table)
  if (!collection) {
    throw new Error(`no oracle for the source ${name}: add it to tables.ts or, of rows in memory, to arrays.ts`)
  }
  return {
    rows: itemsOf(collection),
    queries: queriesOf(arrayVocabulary(collection)),
    check: async (rows, query) => {
      const expected = answerOf(rows as Item[], query, collection)
      const request = parseCollectionRequest(printParameters(query), NOW)
      mustEqual(
        'collect',
        outcomeOf(() => collect(rows as Element[], request, source)),
        expected,
      )
      if (isComputable(request, source))
        mustEqual('the oracle of the manager', answerOfManager(rows as Item[], query, collection), expected)
      const inTurns = collectInTurns(rows as Element[], (row) => row, request, source)
      mustEqual('collectInTurns', await inTurns.catch(codeOf), expected)
      mustEqual('snapshot', await answerOfSnapshot(rows as Element[], request, source), expected)
      return expected
    },
  }
}

function databaseSubject(name: Collection, source: Source, table: Table): Subject {
  const oracle = new SqliteOracle(name)
  let loaded: readonly unknown[] | undefined
  return {
    rows: rowsOf(table),
    queries: queriesOf(databaseVocabulary(table)),
    check: async (rows, query) => {
      if (rows !== loaded) oracle.load(rows as FlatRow[])
      loaded = rows
      const expected = oracle.answer(rows as FlatRow[], query)
      const request = parseCollectionRequest(printParameters(query), NOW)
      const written = rows.map((row) => nestedRow(row as FlatRow, table.nested === true))
      const stored = table.nested ? written.map(flattenRow) : written
      mustEqual(
        'collect',
        outcomeOf(() => collect(stored, request, source)),
        expected,
      )
      mustEqual('snapshot', await answerOfSnapshot(written, request, source), expected)
      return expected
    },
  }
}

/** Named parameters of a database are all its columns, and those with their own rules. */
function databaseVocabulary(table: Table): Vocabulary {
  const valuesOf = (field: string): readonly string[] => {
    switch (table.columns[field]) {
      case 'number':
        return ['0', '7', '11', '2.5', '100', '001', '010', 'n/a', '', '1005']
      case 'date':
        return [
          ...TIMES.map((time) => time.slice(0, 10)),
          '0s',
          '90',
          '45s',
          '20m',
          '3h',
          '1d',
          '1d2h',
          '7d',
          '1y',
          'soon',
        ]
      case 'day':
        return [...TIMES.map((time) => time.slice(0, 10)), '1d']
      case 'status':
        return ['active', 'Active', 'Disconnected', 'pending', 'Never connected', 'neverconnected', 'gone']
      case 'label':
        return ['Wazuh v3.11.4', 'wazuhv3.11.4', 'Wazuhv3', 'v3', 'WAZUH V3.9.0']
      case 'list':
        return MEMBERS
      default:
        return TEXTS
    }
  }
  const filters = Object.fromEntries(Object.keys(table.columns).map((field) => [field, valuesOf(field)]))
  for (const [name, { values, olderThan }] of Object.entries(table.parameters ?? {})) {
    if (values) filters[name] = [...values, 'all', 'other']
    if (olderThan) filters[name] = ['0s', '90', '20m', '3h', '1d', '1d2h', '7d', '1y', 'soon']
    if (!values && !olderThan) filters[name] = [...(filters[name] ?? TEXTS), 'all']
  }
  return {
    fields: Object.keys(table.columns),
    valuesOf,
    filters,
    searches: [...TEXTS, '001', '7', '2026', 'al%T', 'web_'],
  }
}

/** Returns the page that the edge computes from a snapshot of the rows. */
async function answerOfSnapshot(
  rows: readonly Element[],
  request: CollectionRequest,
  source: Source,
): Promise<unknown> {
  // Snapshots have their rows in the default order.
  const inOrder = request.sort === undefined ? inDefaultOrder(rows, source as Source) : rows
  const snapshot = await snapshotOf(inOrder, source, ROWS_PER_PART)
  try {
    const body = await answerFrom(snapshot, { source, collection: request })
    return (JSON.parse(body.toString()) as { data: unknown }).data
  } catch (error) {
    return codeOf(error)
  }
}

function inDefaultOrder(rows: readonly Element[], source: Source): readonly Element[] {
  const isNested = source.engine === 'database' && source.nested
  const rowByFlat = new Map(rows.map((row) => [isNested ? flattenRow(row as Row) : row, row] as const))
  const isOfTexts = typeof rows[0] === 'string'
  const sorted = matchRows(isOfTexts ? rows : [...rowByFlat.keys()], { now: NOW }, source)
  return isOfTexts ? sorted : sorted.map((row) => rowByFlat.get(row) ?? row)
}

function outcomeOf(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    return codeOf(error)
  }
}

function codeOf(error: unknown): number {
  if (error instanceof CollectionError) return error.code
  throw error
}

function mustEqual(what: string, actual: unknown, expected: Expected): void {
  const isEqual =
    'codes' in expected
      ? expected.codes.includes(actual as number)
      : isDeepStrictEqual(withoutNulls(actual), withoutNulls(expected.page))
  if (!isEqual) throw new Error(`${what} returned ${JSON.stringify(actual)}, the oracle ${JSON.stringify(expected)}`)
}

/** A member that is null is a missing one. Prototypes and the order of members have no meaning. */
function withoutNulls(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, inner) => (inner === null ? undefined : inner)) ?? 'null')
}

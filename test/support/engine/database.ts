/** The collections that a manager reads from its databases: SQLite itself, with the statements of its engine. */
import initSqlite, { type Database } from 'sql.js'
import { factorOf, PLACES } from '../../../packages/simulator/src/v4/collection.ts'
import {
  COMMON_PARAMETERS,
  EngineError,
  type EngineRow,
  type Outcome,
  parseSearch,
  parseSort,
  Undetermined,
} from './outcome.ts'
import { flatRow, shownRow } from './shape.ts'
import {
  type Condition,
  comparison,
  conditionsOf,
  conditionsOfFilters,
  conditionText,
  type Sql,
  safe,
} from './statement.ts'
import type { EngineTable } from './tables.ts'
import { agentStateCondition, dateCondition, olderThanCondition } from './times.ts'

/** What differs from collection to collection of one table. */
export interface DatabaseCollection {
  readonly table: EngineTable
  /** `q` of the engine itself, in front of that of the request: `id!=0;group=null`. */
  readonly fixed?: string
  /** Values of `status`, and the code for others. The states of agents follow from other columns. */
  readonly states?: { readonly values: readonly string[]; readonly code: number; readonly ofAgents?: true }
}

/** The order of rows that a statement leaves open: that of the table, or that of an index as the database chooses it. */
export type Ties = 'ofTable' | 'ofIndex'

type Query = Readonly<Record<string, string>>

const { Database: SqliteDatabase } = await initSqlite()
/** Rows that the daemon returns at once. */
const ROWS_PER_SLICE = 20

export class EngineDatabase {
  readonly #database: Database = new SqliteDatabase()
  readonly #collection: DatabaseCollection
  readonly #rows: readonly EngineRow[]
  readonly #ties: Ties

  /** `rows`: as the API returns them without any parameter, in their order in the database. */
  constructor(collection: DatabaseCollection, rows: readonly EngineRow[], ties: Ties) {
    this.#collection = collection
    this.#ties = ties
    this.#rows = rows
    const { table } = collection
    const names = Object.keys(table.columns)
    const types = names.map((name) => `"${name}" ${table.columns[name]?.type}`)
    this.#database.run(`CREATE TABLE t (seq INTEGER PRIMARY KEY, ${types.join(', ')}); BEGIN`)
    const insert = this.#database.prepare(`INSERT INTO t VALUES (?, ${names.map(() => '?').join(', ')})`)
    for (const [seq, row] of rows.entries()) {
      const flat = flatRow(row, table)
      insert.run([seq, ...names.map((name) => stored(flat[name], table.columns[name]?.epoch === true))])
    }
    insert.free()
    this.#database.run('COMMIT')
  }

  /** Throws EngineError and Undetermined. `now`: the time from which time frames count. */
  answer(query: Query, now: Date): Outcome {
    const { table } = this.#collection
    const { offset = '0', limit = '500', select } = query
    const names = select?.split(',').map((name) => name.trim())
    if (names?.some((name) => !Object.hasOwn(table.columns, name))) throw new EngineError(1724)
    if (Number(limit) === 0) throw new EngineError(1406)
    if (Number(limit) > 1000) throw new EngineError(1405)
    const wheres = this.#wheres(query, now)
    const { orders, fields } = this.#orders(query)
    const [page, ...others] = wheres.flatMap((where) =>
      orders.map((order) => this.#page(where, order, Number(offset), Number(limit))),
    )
    if (page === undefined) throw new Error('no statement')
    if (wheres.length > 1 && others.some(({ found }) => `${found}` !== `${page.found}`))
      throw new Undetermined('the order of conditions')
    const hasChance = fields.length > 1 && others.some(({ seqs }) => `${seqs}` !== `${page.seqs}`)
    const chance = hasChance
      ? 'precedence'
      : fields.length > 0 && this.#hasTies(page.found, fields)
        ? 'ties'
        : undefined
    return {
      kind: 'page',
      items: page.seqs.map((seq) => shownRow(this.#rows[seq] ?? {}, names, table)),
      totalItems: page.found.length,
      ...(chance && { chance: { kind: chance, fields } }),
    }
  }

  #page(where: Sql, order: string, offset: number, limit: number) {
    const found = this.#seqs(`SELECT seq FROM t ${where.text} ORDER BY ${order}`, where)
    const { backend } = this.#collection.table
    const isSliced = backend === 'wdb' && limit > ROWS_PER_SLICE
    const length = isSliced ? Math.ceil(limit / ROWS_PER_SLICE) * ROWS_PER_SLICE : limit
    return { found, seqs: found.slice(offset, offset + length) }
  }

  #seqs(text: string, { values }: Sql): number[] {
    try {
      return (this.#database.exec(text, [...values])[0]?.values ?? []).map(([seq]) => Number(seq))
    } catch {
      // The statement is not SQL, such as one with a separator at its end.
      throw new EngineError(this.#collection.table.backend === 'wdb' ? 2003 : 1000)
    }
  }

  #hasTies(found: readonly number[], fields: readonly string[]): boolean {
    const keys = found.map((seq) => {
      const row = flatRow(this.#rows[seq] ?? {}, this.#collection.table)
      return JSON.stringify(fields.map((field) => row[field] ?? null))
    })
    return new Set(keys).size < keys.length
  }

  /** The statements that the engine may build: the order of named parameters is not known. */
  #wheres(query: Query, now: Date): readonly Sql[] {
    const { table, fixed } = this.#collection
    const { older_than: olderThan, hash, ...named } = query
    const filters = Object.entries(named).filter(([name]) => !COMMON_PARAMETERS.includes(name))
    const ofHash = hash === undefined ? [] : [`(md5=${hash},sha1=${hash},sha256=${hash})`]
    const q = [...(fixed === undefined ? [] : [fixed]), ...(query.q === undefined ? [] : [query.q]), ...ofHash].join(
      ';',
    )
    const orders = filters.some(([, value]) => value.includes(',')) ? permutations(filters) : [filters]
    // The engine appends it to `q`, as two conditions in parentheses.
    const ofAge: readonly Condition[] =
      olderThan === undefined ? [] : [{ field: 'older_than', operator: '=', value: olderThan, separator: '', level: 0 }]
    return orders.map((order) => {
      const ofQ = q === '' ? [] : conditionsOf(q, table)
      const hasMore = q !== '' || ofAge.length > 0
      const conditions = [...conditionsOfFilters(order, hasMore), ...(ofAge.length > 0 ? closed(ofQ) : ofQ), ...ofAge]
      const { text, values } = conditionText(conditions, (condition) => this.#write(condition, now))
      if (query.search === undefined) return { text: conditions.length === 0 ? '' : `WHERE ${text}`, values }
      const search = this.#search(query.search)
      const joint = conditions.length === 0 ? 'WHERE' : `WHERE ${text}AND`
      return { text: `${joint} ${search.text}`, values: [...values, ...search.values] }
    })
  }

  #write(condition: Condition, now: Date): Sql {
    const { table, states } = this.#collection
    const { field, operator, value } = condition
    if (field === 'older_than') return olderThanCondition(value ?? '', now)
    if (field === 'status' && states) {
      const state = (value ?? '').toLowerCase().replaceAll(' ', '')
      if (!states.values.includes(state)) throw new EngineError(states.code)
      if (operator !== '=') throw new Undetermined('an operator other than = with a status')
      if (states.ofAgents) return agentStateCondition(state, now)
      return { text: `REPLACE(LOWER("status"), ' ', '') = ?`, values: [state] }
    }
    if (field === 'group' && value !== null) {
      if (operator !== '=') throw new Undetermined('an operator other than = with groups')
      if (value.includes('_')) throw new Undetermined('the name of a group as a pattern')
      const patterns = [`%,${value}`, `${value},%`, `%,${value},%`]
      return { text: '"group" LIKE ? OR "group" LIKE ? OR "group" LIKE ? OR "group" = ?', values: [...patterns, value] }
    }
    if (table.dates?.includes(field) && value !== null) return dateCondition(condition, table, now)
    return comparison(condition, table)
  }

  /** All columns of the table, in the form in which they are stored. */
  #search(search: string): Sql {
    const { table } = this.#collection
    const { negated, text } = parseSearch(search)
    const wanted = `%${safe(text, table)}%`
    const names = Object.keys(table.columns)
    // The key of an agent is searched too, and no response has it.
    if (names.includes('registerIP')) throw new Undetermined('the search covers columns that no response has')
    const likes = names.map((name) => `("${name}" IS NOT NULL AND "${name}" LIKE ?)`)
    return { text: `${negated ? 'NOT ' : ''}(${likes.join(' OR ')})`, values: names.map(() => wanted) }
  }

  /** Several fields come in any order of precedence, because they go through a set. */
  #orders(query: Query): { readonly orders: readonly string[]; readonly fields: readonly string[] } {
    const { order, columns } = this.#collection.table
    const { sort } = query
    const ties = this.#ties === 'ofTable' ? 'seq' : tiesOf(query, this.#collection.table)
    if (sort === undefined)
      return { orders: [`"${order.field}" ${order.descending ? 'DESC' : 'ASC'}, ${ties}`], fields: [] }
    const { fields, descending } = parseSort(sort)
    const direction = descending ? 'DESC' : 'ASC'
    if (fields.some((field) => !Object.hasOwn(columns, field))) throw new EngineError(1403)
    const names = fields.length === 0 ? [order.field] : [...new Set(fields)]
    const orders = permutations(names).map((names) => {
      return [...names.map((name) => sortText(name, direction, columns)), ties].join(', ')
    })
    return { orders, fields: names }
  }
}

/**
 * The order of rows that a statement leaves open: that of the table if the statement is the one of a plain page; otherwise
 * that of the index which the database chooses for this statement, which nothing promises.
 */
function tiesOf(query: Query, { order, keepsTies }: EngineTable): string {
  const { offset: _, limit: __, sort, ...others } = query
  const { fields, descending } = parseSort(sort ?? '')
  const [named = order.field] = fields
  const isByDefault = named === order.field && fields.length < 2 && descending === (order.descending === true)
  const isKept = keepsTies !== undefined && fields.length < 2 && !keepsTies.exceptOf.includes(named)
  if (Object.keys(others).length === 0 && (sort === undefined || isByDefault || isKept)) return 'seq'
  return `((seq + 1) * ${factorOf(`${Object.keys(others).sort()} ${sort} ${query.select}`)}) % ${PLACES}`
}

function sortText(name: string, direction: string, columns: EngineTable['columns']): string {
  if (name === 'status' && 'lastKeepAlive' in columns) return `"lastKeepAlive" ${direction}`
  if (name === 'os.version') return `CAST("os.major" AS INTEGER) ${direction}, CAST("os.minor" AS INTEGER) ${direction}`
  return `"${name}" ${direction}`
}

/** Conditions with another one behind them. */
function closed(conditions: readonly Condition[]): readonly Condition[] {
  return conditions.map((each, at) => (at === conditions.length - 1 ? { ...each, separator: 'AND' as const } : each))
}

function stored(value: unknown, isEpoch: boolean): string | number | null {
  if (value === undefined || value === null) return null
  if (Array.isArray(value)) return value.join(',')
  if (!isEpoch) return typeof value === 'number' ? value : String(value)
  const seconds = Date.parse(`${String(value).replace(' ', 'T')}Z`) / 1000
  return Number.isNaN(seconds) ? String(value) : seconds
}

function permutations<T>(list: readonly T[]): (readonly T[])[] {
  if (list.length < 2) return [list]
  return list.flatMap((first, at) =>
    permutations(list.filter((_, other) => other !== at)).map((rest) => [first, ...rest]),
  )
}

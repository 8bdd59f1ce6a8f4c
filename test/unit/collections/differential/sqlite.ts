/** The database engine of the manager as an oracle: SQLite itself, with statements that are built from the parts of a query. */
import initSqlite, { type Database, type SqlValue } from 'sql.js'
import { type Condition, type Expected, NOW, type Query, searchedText, secondsOf, type Tree } from './query.ts'
import { type FlatRow, nestedRow } from './rows.ts'
import { type Table, tables } from './tables.ts'

interface Term {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

const STATES: readonly string[] = ['active', 'disconnected', 'pending', 'neverconnected']
const { Database: SqliteDatabase } = await initSqlite()

/** One table in memory. Texts are stored as they are and in lower case, since all letters are compared without case. */
export class SqliteOracle {
  readonly #database: Database = new SqliteDatabase()
  readonly #table: Table
  readonly #stored: readonly string[]

  constructor(name: string) {
    const table = tables[name]
    if (table === undefined) throw new Error(`no table for the source ${name}`)
    this.#table = table
    this.#stored = [...Object.keys(table.columns), ...(table.hidden ?? [])]
    const definitions = this.#stored.flatMap((column) => {
      const type = table.columns[column] === 'number' ? 'NUMERIC' : 'TEXT'
      return [`"${column}" ${type}`, `"${column}/lower" ${type}`]
    })
    this.#database.run(`CREATE TABLE t (seq INTEGER PRIMARY KEY, ${definitions.join(', ')})`)
    this.#database.run('CREATE TABLE members (seq INTEGER, value TEXT)')
  }

  load(rows: readonly FlatRow[]): void {
    this.#database.run('DELETE FROM t; DELETE FROM members; BEGIN')
    const insert = this.#database.prepare(`INSERT INTO t VALUES (?, ${this.#stored.map(() => '?, ?').join(', ')})`)
    for (const [seq, row] of rows.entries()) {
      const values = this.#stored.flatMap((column) => {
        const value = row[column] ?? null
        const plain = typeof value === 'object' && value !== null ? value.join(',') : value
        return [plain, typeof plain === 'string' ? plain.toLowerCase() : plain]
      })
      insert.run([seq, ...values])
      for (const value of Object.values(row)
        .filter((each) => Array.isArray(each))
        .flat()) {
        this.#database.run('INSERT INTO members VALUES (?, ?)', [seq, String(value).toLowerCase()])
      }
    }
    insert.free()
    this.#database.run('COMMIT')
  }

  answer(rows: readonly FlatRow[], query: Query): Expected {
    const codes: number[] = []
    const { offset = 0, limit = 500, select } = query
    if (limit === 0) codes.push(1406)
    if (limit > 1000) codes.push(1405)
    if (select?.some((column) => !Object.hasOwn(this.#table.columns, column))) codes.push(1724)
    const terms = [
      ...query.filters.flatMap(([name, value]) => this.#filter(name, value, codes) ?? []),
      ...(query.search ? [this.#search(query.search)] : []),
      ...[query.q && this.#tree(query.q, codes)].filter((term) => term !== undefined),
    ]
    const order = this.#order(query.sort, codes)
    if (codes.length > 0) return { codes }
    const where = terms.map(({ sql }) => `COALESCE(${sql}, 0)`).join(' AND ') || '1'
    const values = terms.flatMap((term) => term.values)
    const found = this.#numbers(`SELECT seq FROM t WHERE ${where} ORDER BY ${order} LIMIT ? OFFSET ?`, [
      ...values,
      limit,
      offset,
    ])
    const [totalItems = 0] = this.#numbers(`SELECT COUNT(*) FROM t WHERE ${where}`, values)
    return { page: { items: found.map((seq) => this.#shown(rows[seq] ?? {}, select)), totalItems } }
  }

  #numbers(sql: string, values: readonly SqlValue[]): number[] {
    return (this.#database.exec(sql, [...values])[0]?.values ?? []).map(([value]) => Number(value))
  }

  #shown(row: FlatRow, select: readonly string[] | undefined): unknown {
    const { columns, alwaysSelected = [], nested } = this.#table
    const names = select === undefined ? Object.keys(columns) : [...alwaysSelected, ...select]
    const present = names.filter((name) => row[name] !== null && row[name] !== undefined)
    return nestedRow(Object.fromEntries(present.map((name) => [name, row[name] ?? null])), nested === true)
  }

  #order(sort: Query['sort'], codes: number[]): string {
    const { order, columns, sortedBy = {} } = this.#table
    const named = sort !== undefined && sort.fields.length > 0
    if (named && sort.fields.some((field) => !Object.hasOwn(columns, field))) codes.push(1403)
    const descending = sort === undefined ? order.descending === true : sort.sign === '-'
    const by = (named ? sort.fields : [order.column]).flatMap((field) => sortedBy[field] ?? [`"${field}"`])
    return [...by.map((expression) => `${expression} ${descending ? 'DESC' : 'ASC'}`), 'seq'].join(', ')
  }

  #search(search: NonNullable<Query['search']>): Term {
    const { unsearched = [], searchedByNumber } = this.#table
    const text = searchedText(search)
    const searched = this.#stored.filter((column) => !unsearched.includes(column))
    const parts = searched.map((column) => `COALESCE("${column}/lower" LIKE ?, 0)`)
    const values: SqlValue[] = searched.map(() => `%${text.toLowerCase()}%`)
    if (searchedByNumber !== undefined && /^\d+$/.test(text)) {
      parts.push(`COALESCE("${searchedByNumber}" = ?, 0)`)
      values.push(Number(text))
    }
    return { sql: `${search.negated ? 'NOT ' : ''}(${parts.join(' OR ')})`, values }
  }

  #filter(name: string, value: string, codes: number[]): Term | undefined {
    const { anyOf = [name], olderThan, values, code = 0, everything } = this.#table.parameters?.[name] ?? {}
    const alternatives = value.split(',')
    if (everything !== undefined && alternatives.includes(everything)) return undefined
    if (values && !values.includes(value)) codes.push(code)
    if (olderThan) {
      const seconds = secondsOf(value)
      if (seconds === undefined) codes.push(1411)
      return { sql: `COALESCE("${olderThan[0]}", "${olderThan[1]}") < ${timeBefore(seconds)}`, values: [] }
    }
    const terms = anyOf.flatMap((field) => {
      return alternatives.flatMap((each) => this.#condition({ field, operator: '=', value: each }, codes, true) ?? [])
    })
    return joined(terms, ' OR ')
  }

  #tree(tree: Tree, codes: number[]): Term | undefined {
    if (!('join' in tree)) return this.#condition(tree, codes, false)
    const terms = tree.of.flatMap((part) => this.#tree(part, codes) ?? [])
    return terms.length === 0 ? undefined : joined(terms, tree.join === ';' ? ' AND ' : ' OR ')
  }

  /** `isFilter`: a named parameter, to which `all`, `null` and dates have no meaning. */
  #condition({ field, operator, value }: Condition, codes: number[], isFilter: boolean): Term | undefined {
    const kind = this.#table.columns[field]
    if (kind === undefined) {
      codes.push(1408)
      return undefined
    }
    const lower = value.toLowerCase()
    if (!isFilter && value === 'all') return undefined
    if (!isFilter && value === 'null')
      return { sql: `"${field}" IS ${operator === '!=' ? 'NOT ' : ''}NULL`, values: [] }
    if (kind === 'status') {
      const state = lower.replaceAll(' ', '')
      if (operator !== '=' && operator !== '!=') codes.push(1409)
      else if (!STATES.includes(state)) codes.push(1729)
      return { sql: `REPLACE("${field}/lower", ' ', '') ${operator} ?`, values: [state] }
    }
    const isCalendarDay = /^\d{4}-\d\d-\d\d/.test(value)
    if (!isFilter && kind === 'day' && !isCalendarDay) codes.push(1412)
    if (!isFilter && kind === 'date' && !isCalendarDay) {
      const seconds = secondsOf(value)
      if (seconds === undefined) codes.push(/^\d+[a-z]/.test(value) ? 1411 : 1412)
      const isWithin = operator === '<' || operator === '='
      return { sql: `"${field}" ${isWithin ? '>' : '<'} ${timeBefore(seconds)}`, values: [] }
    }
    const wanted = kind === 'label' ? lower.replace(/([a-z])v(\d)/, '$1 v$2') : lower
    const [sign, text] = operator === '~' ? ['LIKE', `%${wanted}%`] : [operator, wanted]
    if (kind !== 'list') return { sql: `"${field}/lower" ${sign} ?`, values: [text] }
    const not = operator === '!=' ? `"${field}" IS NOT NULL AND NOT ` : ''
    const members = `EXISTS (SELECT 1 FROM members WHERE members.seq = t.seq AND value ${not ? '=' : sign} ?)`
    return { sql: not + members, values: [text] }
  }
}

/** Conditions without a value are unknown (NULL), which counts as false before it is joined. */
function joined(terms: readonly Term[], by: ' AND ' | ' OR '): Term {
  return {
    sql: `(${terms.map(({ sql }) => `COALESCE(${sql}, 0)`).join(by)})`,
    values: terms.flatMap((term) => term.values),
  }
}

/** `undefined`: the time frame is invalid, and the statement is never run. */
function timeBefore(seconds = 0): string {
  return `strftime('%Y-%m-%d %H:%M:%S', ${NOW.getTime() / 1000 - seconds}, 'unixepoch')`
}

/**
 * Names and values of the v3 contract in the words of the v4 layout: in `select`, `sort` and `q`, by the rule for
 * the rows of a collection.
 */
import type { FieldRule, RowRule } from '../contracts/translations/translation.ts'
import { ownEntry } from '../core/values.ts'
import { parseSearch } from './filter.ts'
import { NO_LIMITS, parseQuery, printQuery, type Query } from './grammar.ts'
import { CollectionError, type CollectionErrorCode } from './request.ts'
import { type Source, sources } from './sources.ts'
import { wordOf } from './value.ts'

interface Names {
  /** The v4 name of each v3 name that differs. */
  readonly v4: Readonly<Record<string, string>>
  /** The rule of each field, by its v3 name. */
  readonly rules: Readonly<Record<string, FieldRule>>
}

const NONE: Names = { v4: {}, rules: {} }
const tables = new WeakMap<RowRule, Names>()

function namesOf(rows: RowRule | undefined): Names {
  if (rows === undefined) return NONE
  const known = tables.get(rows)
  if (known !== undefined) return known
  const fields = Object.entries(rows.fields ?? {})
  const names = {
    v4: Object.fromEntries(fields.flatMap(([v4, rule]) => renamed(v4, rule))),
    rules: Object.fromEntries(fields.map(([v4, rule]) => [rule.param ?? rule.to ?? v4, rule])),
  }
  tables.set(rows, names)
  return names
}

/** Returns the v3 names that stand for a v4 one. */
function renamed(v4: string, { to, param = to, also }: FieldRule): [v3: string, v4: string][] {
  const names = [param, also?.to].filter((name) => name !== undefined)
  return names.map((name) => [name, v4])
}

/** Returns the v4 name of a v3 field. Throws `code` for a field that only the v4 layout has. */
export function v4Name(name: string, rows: RowRule | undefined, code: CollectionErrorCode): string {
  const { v4, rules } = namesOf(rows)
  if (ownEntry(rules, name)?.dropped === true) throw new CollectionError(code)
  return ownEntry(v4, name) ?? name
}

/** Names that the v3 layout ignores are left out. Throws 1724. */
export function renameInSelect(select: string, rows: RowRule | undefined): string {
  const source: Source | undefined = ownEntry<Source>(sources, rows?.source ?? '')
  const ignored = source?.engine === 'database' ? (source.ignoredInSelect ?? []) : []
  const names = select.split(',').filter((name) => !ignored.includes(name))
  return [...new Set(names.map((name) => v4Name(name, rows, 1724)))].join(',')
}

/** Throws 1403. */
function renameInSort(sort: string, rows: RowRule | undefined): string {
  return sort
    .split(',')
    .map((field) => field.replace(/[^+\- ].*$/s, (name) => sortField(name, rows)))
    .join(',')
}

function sortField(name: string, rows: RowRule | undefined): string {
  return ownEntry(namesOf(rows).rules, name)?.sortedBy ?? v4Name(name, rows, 1403)
}

/** Throws 1408 and 1407. */
function translateQ(q: string, rows: RowRule | undefined): string {
  const query = parseQuery(q, NO_LIMITS)
  if (query === undefined) throw new CollectionError(1407)
  return printQuery(translateQuery(query, rows))
}

function translateQuery(query: Query, rows: RowRule | undefined): Query {
  if (query.kind !== 'condition') return { ...query, of: query.of.map((part) => translateQuery(part, rows)) }
  const { field, value } = query
  const words = ownEntry(namesOf(rows).rules, field)?.words
  return { ...query, field: v4Name(field, rows, 1408), value: ownEntry(words, wordOf(value)) ?? value }
}

/**
 * Returns the value of a parameter that many collections have; `undefined`: the parameter is another one. The v4 layout
 * negates a search with a hyphen. Throws CollectionError.
 */
export function v4Value(name: string, value: string, rows: RowRule | undefined): string | undefined {
  switch (name) {
    case 'select':
    case 'fields':
      return renameInSelect(value, rows)
    case 'sort':
      return renameInSort(value, rows)
    case 'q':
      return translateQ(value, rows)
    case 'search': {
      const { negated, text } = parseSearch(value)
      return negated ? `-${text}` : text
    }
  }
}

/**
 * Requests of the classic contract in front of nodes of the newer layout, whose rows the edge converts. A node compares
 * the values that it has itself: the edge computes what it computes in both contracts, unless a compared value has
 * another form in the node.
 */
import type { NewerRows, SnapshotRows } from '../catalogue/endpoint.ts'
import type { Translation, ValueRule } from '../catalogue/newer/translation.ts'
import { ownEntry } from '../core/values.ts'
import { conditionsOf } from './computable.ts'
import { collectionContracts } from './contracts.ts'
import { parseQuery } from './grammar.ts'
import { newerValue, wordOf } from './newer-names.ts'
import { newerSources } from './newer-sources.ts'
import { sortFieldsOf } from './order.ts'
import { CollectionError } from './request.ts'
import type { Source } from './sources.ts'

type Parameters = Readonly<Record<string, string>>

/** The collections that have another name in the newer contract. */
const OTHER_NAMES: Partial<Record<SnapshotRows, NewerRows>> = {
  ruleFiles: 'rulesetFiles',
  decoderFiles: 'rulesetFiles',
  catalogue: 'texts',
  requirements: 'texts',
}

function newerSourceOf(rows: SnapshotRows): Source {
  return newerSources[OTHER_NAMES[rows] ?? (rows as NewerRows)]
}

/** Returns the source of converted rows: nothing but what they determine is computed. */
export function convertedSource(source: Source, rows: SnapshotRows, { call }: Translation): Source {
  const { defaultSort, ...rest } = source
  const isSorted = call.order !== undefined || newerSourceOf(rows).defaultSort !== undefined
  return {
    ...rest,
    isStrict: true,
    ...(isSorted && defaultSort !== undefined && { defaultSort }),
    ...(call.order && { isOrdered: true }),
  }
}

/** Whether nodes compute the parameters of a request as the edge does from converted rows. */
export function isComputableOfConverted(query: Parameters, rows: SnapshotRows, translation: Translation): boolean {
  const { newer } = collectionContracts
  const source = newerSourceOf(rows)
  const translated = translate(query, translation)
  const request = translated && newer.parse(translated, new Date())
  if (request === undefined || !newer.isComputable(request, source)) return false
  const changed = changedFields(translation, source)
  if (query.search !== undefined && changed.some(({ isHidden }) => isHidden)) return false
  const compared = comparedFields(query)
  return !changed.some(({ name }) => compared.includes(name))
}

/** Returns the parameters that the node evaluates; `undefined`: the node refuses one. */
function translate(query: Parameters, { call: { params = {} }, response }: Translation): Parameters | undefined {
  const rows = 'rows' in response ? response.rows : undefined
  const translated: Record<string, string> = {}
  try {
    for (const [name, value] of Object.entries(query)) {
      const { as = name, byEdge, ignored, omitted, words = {} } = params[name] ?? {}
      if (byEdge === true || ignored || omitted?.includes(value.toLowerCase())) continue
      translated[as] = newerValue(name, value, rows) ?? ownEntry(words, wordOf(value)) ?? value
    }
    return translated
  } catch (fault) {
    if (fault instanceof CollectionError) return undefined
    throw fault
  }
}

interface ChangedField {
  /** The classic name in parameters. */
  readonly name: string
  /** Whether a search finds a value that the converted row does not show. */
  readonly isHidden: boolean
}

/** Values that keep their order, and of which `computable.ts` knows what may be compared. */
const DATES: readonly (ValueRule | undefined)[] = ['date', 'slashedDate', 'preciseDate', undefined]

function changedFields({ response }: Translation, source: Source): readonly ChangedField[] {
  const { fields = {} } = ('rows' in response && response.rows) || {}
  return Object.entries(fields).flatMap(([newer, rule]): ChangedField[] => {
    const { param, to, also, value, words } = rule
    const isKnown = source.engine === 'array' || Object.hasOwn(source.fields, newer)
    if (!isKnown || (!rule.dropped && (DATES.includes(value) || words !== undefined))) return []
    const names = [param ?? to ?? newer, ...(also === undefined ? [] : [also.to])]
    return names.map((name) => ({ name, isHidden: value !== 'nonBlank' }))
  })
}

function comparedFields({ sort, q, offset: _, limit: __, search: ___, select: ____, ...filters }: Parameters) {
  const parsed = q === undefined ? undefined : parseQuery(q)
  const conditions = parsed?.ok ? conditionsOf(parsed.query).map(({ field }) => field) : []
  return [...sortFieldsOf(sort, {}), ...conditions, ...Object.keys(filters)]
}

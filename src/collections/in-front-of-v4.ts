/**
 * Requests of the v3 contract in front of nodes of the v4 layout, whose rows the edge converts. A node compares
 * the values that it has itself: the edge computes what it computes in both contracts, unless a compared value has
 * another form in the node.
 */
import type { RowKind } from '../contracts/endpoint.ts'
import type { Translation, ValueRule } from '../contracts/translations/translation.ts'
import { ownEntry } from '../core/values.ts'
import { collectionContracts } from './contracts.ts'
import { conditionsIn } from './grammar.ts'
import { sortFieldsOf } from './order.ts'
import { CollectionError } from './request.ts'
import type { Source } from './sources.ts'
import { v4Value } from './v4-names.ts'
import { v4Sources } from './v4-sources.ts'
import { wordOf } from './value.ts'

type Parameters = Readonly<Record<string, string>>

/** Returns the source of converted rows: nothing but what they determine is computed. */
export function convertedSource(source: Source, rows: RowKind, { call }: Translation): Source {
  const { defaultSort, ...rest } = source
  const isSorted = call.order !== undefined || v4Sources[rows].defaultSort !== undefined
  return {
    ...rest,
    isStrict: true,
    ...(isSorted && defaultSort !== undefined && { defaultSort }),
    ...(call.order && { isOrdered: true }),
  }
}

/** Whether nodes compute the parameters of a request as the edge does from converted rows. */
export function isComputableOfConverted(query: Parameters, rows: RowKind, translation: Translation): boolean {
  const { v4 } = collectionContracts
  const source = v4Sources[rows]
  const translated = translate(query, translation)
  const request = translated && v4.parse(translated, new Date())
  if (request === undefined || !v4.isComputable(request, source)) return false
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
      translated[as] = v4Value(name, value, rows) ?? ownEntry(words, wordOf(value)) ?? value
    }
    return translated
  } catch (fault) {
    if (fault instanceof CollectionError) return undefined
    throw fault
  }
}

interface ChangedField {
  /** The v3 name in parameters. */
  readonly name: string
  /** Whether a search finds a value that the converted row does not show. */
  readonly isHidden: boolean
}

/** Values that keep their order, and of which `computable.ts` knows what may be compared. */
const DATES: readonly (ValueRule | undefined)[] = ['date', 'slashedDate', 'preciseDate', undefined]

function changedFields({ response }: Translation, source: Source): readonly ChangedField[] {
  const { fields = {} } = ('rows' in response && response.rows) || {}
  return Object.entries(fields).flatMap(([v4, rule]): ChangedField[] => {
    const { param, to, also, value, words } = rule
    const isKnown = source.engine === 'array' || Object.hasOwn(source.fields, v4)
    if (!isKnown || (!rule.dropped && (DATES.includes(value) || words !== undefined))) return []
    const names = [param ?? to ?? v4, ...(also === undefined ? [] : [also.to])]
    return names.map((name) => ({ name, isHidden: value !== 'nonBlank' }))
  })
}

function comparedFields({ sort, q, offset: _, limit: __, search: ___, select: ____, ...filters }: Parameters) {
  return [...sortFieldsOf(sort, {}), ...conditionsIn(q).map(({ field }) => field), ...Object.keys(filters)]
}

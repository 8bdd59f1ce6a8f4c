/** Checks the parameters of a collection before a call: the node knows other fields, under other names. */
import type { Translation } from '../../../catalogue/newer/translation.ts'
import type { EdgeRequest } from '../../../core/request.ts'
import { ownEntry } from '../../../core/values.ts'
import { compilePredicates } from '../../../query/collect.ts'
import { parseSorting } from '../../../query/order.ts'
import { parseCollectionRequest } from '../../../query/request.ts'
import { compileProjection } from '../../../query/select.ts'
import { type Source, sources } from '../../../query/sources.ts'

/** Throws CollectionError with the code of the classic layout. Rows without a known source are not checked. */
export function checkQuery({ query }: EdgeRequest, { call, response }: Translation): void {
  const rows = 'rows' in response ? response.rows : undefined
  const source = ownEntry<Source>(sources, rows?.source ?? '')
  if (source === undefined) return
  const request = parseCollectionRequest(query, new Date())
  // The classic layout fails on any `select` of some collections; the newer one selects.
  if (source.engine === 'database') compileProjection(request.select, source)
  // Texts have no fields to sort by. Where only the sign of the sort counts, the field does not.
  if (call.params?.sort?.format !== 'sign') {
    parseSorting(request.sort, source, source === sources.catalogue ? [''] : [])
  }
  compilePredicates(request, source)
}

/** What errors of the v4 layout are in the v3 one (measured). */

import { bodyOf, type V4Exchange } from './exchanges.ts'
import type { V3Request } from './v3-request.ts'

/** `empty`: a response without rows; `success`: the text of the endpoint, although the node did nothing. */
export type CodeMeaning = { readonly status: number; readonly codes: readonly number[] } | 'empty' | 'success'

/** Faults of the manager's framework have status 200 in the v3 layout. */
const framework = (...codes: readonly number[]): CodeMeaning => ({ status: 200, codes })
const parameter = (...codes: readonly number[]): CodeMeaning => ({ status: 400, codes })

export function meaningOfProblem(request: V3Request, exchange: V4Exchange): CodeMeaning {
  const { status } = exchange.response
  const { error: code, detail = '' } = bodyOf(exchange) ?? {}
  if (code === undefined) return status === 500 ? { status: 500, codes: [3] } : ofParameter(request, detail)
  if (status === 403) return { status: 403, codes: [code] }
  // The node fails for a status that is no word of it.
  if (code === 1000 && request.endpoint === 'GET /rootcheck/:agent_id') return framework(1603)
  // It fails for a field of texts, too.
  if (code === 1000 && request.endpoint === 'GET /rules/groups') return framework(1403)
  switch (code) {
    case 2007:
      return request.endpoint.startsWith('POST ') ? parameter(703) : 'empty'
    case 2003:
      return framework(1000)
    case 1407:
      return parameter(622)
    case 1912:
      return parameter(607)
    default:
      return meaningOfFailed(request.endpoint, code)
  }
}

const VALIDATORS: readonly (readonly [RegExp, number])[] = [
  [/is not a 'numbers|too short.*items/, 600],
  [/is not a '(?:names|group_names|alphanumeric)/, 601],
  [/is not a 'search'/, 612],
  [/is not a 'sort'/, 611],
  [/is not a 'timeframe'/, 617],
  [/is not a 'wpk_path'|is not a 'paths'/, 608],
  [/is not a 'wazuh_version'/, 609],
  [/is not a 'date'/, 605],
]

/** A value that the node refuses by its form, or because it is none of a list of words. */
function ofParameter({ endpoint, query }: V3Request, detail: string): CodeMeaning {
  if (detail.includes('is not one of')) {
    if (endpoint.includes('/config/')) return framework(detail.includes("one of ['agent', ") ? 1101 : 1116)
    if (endpoint.endsWith('/configuration')) return framework(1102)
    if (endpoint === 'GET /cluster/nodes') return framework(1728)
    if ('hash' in query) return framework(1723)
    if ('status' in query) return framework(1729)
    return framework(1104)
  }
  if (detail.includes("'command' is a required property")) return framework(1650)
  if (detail.includes("too short - 'key'")) return framework(1709)
  if (detail.includes("too long - 'group_id'")) return { status: 400, codes: [601] }
  if (detail.includes("is not a 'cdb_filename_path'")) return parameter(608, 704)
  const [, code] = VALIDATORS.find(([pattern]) => pattern.test(detail)) ?? []
  if (code === undefined) throw new Error(`no rule for ${endpoint}: ${detail}`)
  return parameter(code)
}

/** Codes that have another one in the v3 layout, wherever they come from. */
const CODES: Readonly<Record<number, CodeMeaning>> = {
  1705: framework(9008),
  1706: framework(9007),
  1708: framework(9012),
  1121: framework(1117),
  1128: framework(1116),
  1730: framework(3022),
  1813: framework(1716, 1720),
  1820: framework(1716),
  1415: framework(1005),
  1503: framework(1005),
  1802: framework(1005),
  1208: 'empty',
  1504: 'empty',
  1751: 'success',
  1760: 'success',
}

/** 1707 of an agent that is not active. */
function inactive(endpoint: string): CodeMeaning {
  if (endpoint.startsWith('PUT /active-response')) return framework(1651)
  if (endpoint.startsWith('PUT /syscheck')) return framework(1604)
  if (endpoint.startsWith('PUT /rootcheck')) return framework(1605)
  return endpoint.includes('/upgrade') ? framework(1720) : framework(1707)
}

/** What the code of failed items, or of a whole response, means. */
export function meaningOfFailed(endpoint: string, code: number): CodeMeaning {
  if (code === 1707) return inactive(endpoint)
  if (code === 1730 && endpoint === 'GET /cluster/nodes/:node_name') return framework(1730)
  if ((code === 1113 || code === 1800) && endpoint.endsWith('/files')) return parameter(703, 705)
  return CODES[code] ?? framework(code)
}

/** Translates the parameters and the body of a classic request to a call of the newer layout. */
import type { ParamRule, RowRule } from '../../../catalogue/newer/translation.ts'
import { EdgeError } from '../../../core/errors.ts'
import { bodies } from './bodies.ts'
import type { Conversation, NewerCall } from './conversation.ts'
import { renameInQ, renameInSelect, renameInSort } from './field-names.ts'

export interface Question {
  readonly call: NewerCall
  /**
   * The parameters that the edge evaluates over all rows, because the node lacks one of them. Absent: the node evaluates
   * all.
   */
  readonly byEdge?: Readonly<Record<string, string>>
}

/** The most rows that a node returns at once. */
export const ALL_ROWS = '100000'
/** A longer text makes the API of the node hang until it is restarted. */
const MAX_SEARCH_LETTERS = 1000
/** Parameters that apply after all filters. If the edge filters, it applies them too. */
const AFTER_FILTERS: ReadonlySet<string> = new Set(['offset', 'limit', 'sort', 'select'])

/** Throws 612 for a search that would stop the node, and 601 for a value that cannot be a path segment. */
export function buildCall(conversation: Conversation): Question {
  const { request, translation } = conversation
  const { call, response } = translation
  const { query, endpoint, waitForComplete } = request
  const rules = call.params ?? {}
  const rows = 'rows' in response ? response.rows : undefined
  checkSearch(query.search)
  const sent = Object.keys(endpoint.query).filter((name) => Object.hasOwn(query, name))
  const needsEdge = sent.some((name) => rules[name]?.byEdge)
  const parameters: Record<string, string> = {}
  const byEdge: Record<string, string> = {}
  for (const [name, template] of Object.entries(call.fixed ?? {})) parameters[name] = conversation.fill(template)
  for (const name of sent) {
    const rule = rules[name] ?? {}
    const value = query[name] ?? ''
    if (rule.ignored || endpoint.query[name]?.edgeOnly) continue
    if (rule.byEdge || (needsEdge && AFTER_FILTERS.has(name))) byEdge[name] = value
    else addParameter(parameters, name, value, rule, rows)
  }
  if (needsEdge) parameters.limit = ALL_ROWS
  if (waitForComplete) parameters.wait_for_complete = 'true'
  const body = call.body === 'none' ? undefined : bodies[call.body ?? 'same'](conversation)
  return {
    call: { method: call.method ?? endpoint.method, path: call.path, query: parameters, ...(body && { body }) },
    ...(needsEdge && { byEdge }),
  }
}

function checkSearch(search: string | undefined): void {
  if (search !== undefined && search.length > MAX_SEARCH_LETTERS) {
    throw new EdgeError(612, `. Valid values: at most ${MAX_SEARCH_LETTERS} characters. Field: search`)
  }
}

function addParameter(
  parameters: Record<string, string>,
  name: string,
  value: string,
  rule: ParamRule,
  rows: RowRule | undefined,
): void {
  if (rule.omitted?.includes(value.toLowerCase())) return
  parameters[rule.as ?? name] = translateValue(name, value, rule, rows)
}

function translateValue(name: string, value: string, rule: ParamRule, rows: RowRule | undefined): string {
  switch (name) {
    case 'select':
      return renameInSelect(value, rows)
    case 'sort':
      return renameInSort(value, rows)
    case 'q':
      return renameInQ(value, rows)
    case 'search':
      // The newer layout negates with a hyphen.
      return value.replace(/^!/, '-')
    default:
      return formatValue(value, rule)
  }
}

function formatValue(value: string, { words, format }: ParamRule): string {
  switch (format) {
    case 'flag':
      return 'true'
    case 'boolean':
      return value === '' || /^(?:true|yes|1)$/i.test(value) ? 'true' : 'false'
    case 'date':
      return value.replace(/^(\d{4})(\d{2})(\d{2})$/, '$1-$2-$3')
    case 'daemon':
      return value.replace(/^ossec-/, 'wazuh-')
    default:
      return translateWords(value, words)
  }
}

/** A value may be a list of words. */
function translateWords(value: string, words: ParamRule['words']): string {
  if (words === undefined) return value
  return value
    .split(',')
    .map((word) => (Object.hasOwn(words, word.toLowerCase()) ? words[word.toLowerCase()] : word))
    .join(',')
}

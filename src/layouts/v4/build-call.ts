/**
 * Translates the parameters of a v3 request to a call of the v4 layout. Lists of agents that a request
 * names are sent as a parameter, in as many calls as they need.
 */

import { parseSearch } from '../../collections/filter.ts'
import { parseSort } from '../../collections/order.ts'
import { v4Name, v4Value } from '../../collections/v4-names.ts'
import { wordOf } from '../../collections/value.ts'
import type { CallTemplate, Order, ParamRule } from '../../contracts/translations/translation.ts'
import { EdgeError } from '../../core/errors.ts'
import { isInRelease, isRelease5, MAX_SEARCH_BYTES } from '../../core/node-call.ts'
import { ownEntry } from '../../core/values.ts'
import { ALL_ROWS, fill, type V4Call } from './call.ts'
import type { Conversation } from './conversation.ts'
import { RefusedError } from './errors.ts'
import { createBody, uploadOf } from './request-body.ts'
import { chunksOf, listOf } from './request-line.ts'

interface Question {
  readonly call: V4Call
  /** The same call for the other parts of a list that does not fit into one request line. */
  readonly further?: readonly V4Call[]
  /**
   * The parameters that the edge evaluates over all rows, because the node lacks one of them. Absent: the node evaluates
   * all.
   */
  readonly byEdge?: Readonly<Record<string, string>>
}

/** Parameters that apply after all filters. If the edge filters, it applies them too. */
const AFTER_FILTERS: ReadonlySet<string> = new Set(['offset', 'limit', 'sort', 'select'])

/**
 * Throws RefusedError and CollectionError for what the v3 layout refuses, 612 for a search that would stop the node,
 * and 601 for a value that cannot be a path segment.
 */
export function buildCall(conversation: Conversation): Question {
  const { request } = conversation
  const { endpoint, query } = request
  const template = templateFor(conversation)
  const rules = template.params ?? {}
  checkPath(conversation)
  checkSize(conversation)
  checkPresence(rules, query)
  checkRelease(rules, conversation)
  checkSearch(query.search)
  const sent = Object.keys(endpoint.query).filter((name) => {
    const { ignored, as = name } = rules[name] ?? {}
    const isReplaced = as !== name && Object.hasOwn(endpoint.query, as) && Object.hasOwn(query, as)
    return Object.hasOwn(query, name) && !ignored && !isReplaced && !endpoint.query[name]?.edgeOnly
  })
  const isByEdge = (name: string) =>
    isEvaluated(rules[name], query[name] ?? '') || isInexpressible(name, query[name] ?? '')
  const needsEdge = template.allRows === true || sent.some(isByEdge)
  const parameters: Record<string, string> = {}
  const byEdge: Record<string, string> = {}
  const isElsewhere = template.path.startsWith('{node}') ? conversation.hasClusterPathsOnly : conversation.isElsewhere
  const { path, fixed = {} } = (isElsewhere && template.elsewhere) || template
  for (const [name, value] of Object.entries(fixed)) parameters[name] = fill(value, conversation)
  for (const name of sent) {
    const value = query[name] ?? ''
    if (isByEdge(name) || (needsEdge && AFTER_FILTERS.has(name))) byEdge[name] = formatValue(value, rules[name] ?? {})
    else addParameter(parameters, name, value, conversation)
  }
  if (needsEdge && Object.hasOwn(endpoint.query, 'limit') && !rules.limit?.byEdge) parameters.limit = ALL_ROWS
  if (template.order !== undefined) parameters.sort = withTies(parameters.sort, template.order)
  if (!template.endless) Object.assign(parameters, conversation.waiting)
  const body = createBody(conversation, template.body)
  const call: V4Call = {
    method: template.method ?? endpoint.method,
    path,
    query: parameters,
    ...(body && { body }),
    ...(template.isFile && { isFile: true }),
  }
  const [first = call, ...further] = withLists(conversation, call)
  return { call: first, ...(further.length > 0 && { further }), ...(needsEdge && { byEdge }) }
}

function templateFor({ request, translation: { call } }: Conversation): CallTemplate {
  const { when } = call
  if (when === undefined) return call
  const read = (name: string) => ownEntry(request.query, name) ?? ownEntry(request.params, name) ?? null
  if (Object.entries(when.values).some(([name, value]) => read(name) !== value)) return call
  const { values: _, ...parts } = when
  return { ...call, ...parts }
}

function checkPath({ request, translation: { call } }: Conversation): void {
  const { only } = call
  if (only !== undefined && ownEntry(request.params, only.param) !== only.is) throw new RefusedError(only.otherwise)
}

function checkSize({ request, translation: { call } }: Conversation): void {
  const { maxBodyBytes } = call
  if (maxBodyBytes !== undefined && uploadOf(request).length > maxBodyBytes) throw new RefusedError(701)
}

function checkPresence(rules: Readonly<Record<string, ParamRule>>, query: Readonly<Record<string, string>>): void {
  for (const [name, { required, fails }] of Object.entries(rules)) {
    const code = Object.hasOwn(query, name) ? fails : required
    if (code !== undefined) throw new RefusedError(code)
  }
}

/** Throws 938 for a parameter that the release of the node no longer has. */
function checkRelease(
  rules: Readonly<Record<string, ParamRule>>,
  { request: { query }, node, release }: Conversation,
): void {
  const gone = Object.keys(query).find((name) => !isInRelease({ until: rules[name]?.until }, release))
  if (gone !== undefined) throw new EdgeError(938, ` (${node}: release ${release} has no parameter ${gone})`)
}

function checkSearch(search: string | undefined): void {
  if (search !== undefined && Buffer.byteLength(search) > MAX_SEARCH_BYTES) {
    throw new EdgeError(612, `. Valid values: at most ${MAX_SEARCH_BYTES} bytes.  Field: search`)
  }
}

function isEvaluated({ byEdge, byEdgeIf }: ParamRule = {}, value: string): boolean {
  if (byEdgeIf !== undefined && new RegExp(byEdgeIf).test(value)) return true
  return byEdge === 'list' ? value.includes(',') : byEdge === true
}

/** The v4 layout negates with a hyphen, so it cannot search for a text that begins with one. */
function isInexpressible(name: string, value: string): boolean {
  if (name !== 'search') return false
  const { negated, text } = parseSearch(value)
  return !negated && text.startsWith('-')
}

function addParameter(
  parameters: Record<string, string>,
  name: string,
  value: string,
  { rows, release, translation: { call, response } }: Conversation,
): void {
  const rule = call.params?.[name] ?? {}
  const words = value.toLowerCase().split(',')
  if (rule.omitted?.some((word) => words.includes(word))) return
  const translated = v4Value(name, value, rows) ?? formatValue(value, rule, release)
  // The node ignores a parameter without a value, also one that it does not know.
  if (translated === '') return
  const added = name === 'select' && response.kind === 'one' ? Object.keys(response.equal ?? {}) : []
  const names = added.map((field) => v4Name(field, rows, 1724))
  parameters[rule.as ?? name] =
    names.length === 0 ? translated : [...new Set([...translated.split(','), ...names])].join(',')
}

function formatValue(value: string, { words, format }: ParamRule, release?: string): string {
  switch (format) {
    case 'flag':
      return 'true'
    case 'boolean':
      return value === '' || /^(?:true|yes|1)$/i.test(value) ? 'true' : 'false'
    case 'date':
      return value.replace(/^(\d{4})(\d{2})(\d{2})$/, '$1-$2-$3')
    case 'daemon':
      return isRelease5(release)
        ? value.replace(/^(?:ossec|wazuh)-(?!manager-)/, 'wazuh-manager-')
        : value.replace(/^ossec-/, 'wazuh-')
    case 'sign':
      return value.startsWith('-') ? '-' : ''
    default:
      return translateWords(value, words)
  }
}

/** A value may be a list of words. */
function translateWords(value: string, words: ParamRule['words']): string {
  if (words === undefined) return value
  return value
    .split(',')
    .map((word) => ownEntry(words, wordOf(word)) ?? word)
    .join(',')
}

/**
 * Returns the sort with which the node keeps its order from page to page: that of the client, else the default one, and
 * behind it the fields that no two rows have in common. The direction of the node is that of all fields.
 */
function withTies(sort: string | undefined, { byDefault, ties }: Order): string {
  const asked = parseSort(sort ?? byDefault)
  const fields = asked.fields.length > 0 ? asked.fields : parseSort(byDefault).fields
  return `${asked.descending ? '-' : '+'}${[...new Set([...fields, ...ties])].join(',')}`
}

/** Returns the calls with the parts of the list. Throws 604 for an empty list: for the node it means all agents. */
function withLists(conversation: Conversation, call: V4Call): readonly V4Call[] {
  const { list } = conversation.translation.call
  if (list === undefined) return [call]
  const ids = listOf(conversation)
  if (ids === undefined && Object.hasOwn(call.query, list.as)) return [call]
  const chunks = chunksOf(ids ?? [])
  if (chunks.length === 0) throw new RefusedError(604, ". Missing field: 'ids'")
  return chunks.map((chunk) => ({ ...call, query: { ...call.query, [list.as]: chunk } }))
}

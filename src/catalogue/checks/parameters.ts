import type { Param } from '../endpoint.ts'
import { kinds, type ValueKind } from '../schemas/kinds.ts'
import { type Check, faults, fieldsOf, isWrite, paramsOf, pathNames } from './record-facts.ts'

/** Paths, names, values and bodies. */

/** Taken out of every query before it is read. */
const FLAGS = ['pretty', 'wait_for_complete']
/** In this order 604 lists them, before the filters; `select` comes last. */
const FIRST = ['offset', 'limit', 'sort', 'search', 'q']

export const paths: Check = ({ path, experimental }) =>
  faults(
    [!path.startsWith('/'), `the path does not begin with a slash; write /${path}`],
    [path.length > 1 && path.endsWith('/'), 'the path ends with a slash; leave it out, the router takes both'],
    [path.includes('//'), 'the path has an empty segment; remove one of the slashes'],
    [
      path.startsWith('/experimental/') !== (experimental === true),
      'experimental endpoints, and no others, lie under /experimental/; move it or set experimental',
    ],
  )

export const names: Check = (record) => {
  const inPath = pathNames(record)
  const described = Object.keys(record.params)
  const query = Object.keys(record.query)
  const all = [...inPath, ...query, ...fieldsOf(record)]
  const twice = all.filter((name, at) => all.indexOf(name) !== at)
  const unknown = (record.oneOf ?? []).filter((name) => !query.includes(name))
  const { raw } = record.response
  return faults(
    [twice.length > 0, `the name ${twice.join(', ')} is given twice; call one of the parameters otherwise`],
    ...inPath.map((name) => [!described.includes(name), `:${name} is not described; add it to params`] as const),
    ...described.map((name) => [!inPath.includes(name), `no :${name} in the path; remove it from params`] as const),
    ...FLAGS.map((name) => [query.includes(name), `${name} is a flag of every request; remove it from query`] as const),
    [unknown.length > 0, `oneOf names ${unknown.join(', ')}, which query lacks; describe it there`],
    [raw !== undefined && !query.includes(raw.when), `raw.when names nothing; name a parameter of query`],
    [!inOrder(query), `the query is out of order; write ${FIRST.join(', ')} first and select last, as 604 lists them`],
  )
}

function inOrder(query: readonly string[]): boolean {
  const rank = (name: string) => (name === 'select' ? 99 : FIRST.includes(name) ? FIRST.indexOf(name) : 50)
  return query.every((name, at) => at === 0 || rank(query[at - 1] ?? '') <= rank(name))
}

export const values: Check = (record) =>
  paramsOf(record).flatMap(([name, param]) => valueFaults(name, param, Object.keys(record.query)))

function valueFaults(name: string, param: Param, query: readonly string[]): readonly string[] {
  const { within, requires: needs, pageLimit, startsWith, kind } = param
  return faults(
    [within !== undefined && !/^\^.*\$$/.test(within.pattern), `within of ${name} is not anchored; write ^(?:…)$`],
    [needs !== undefined && !query.includes(needs), `${name} needs ${needs}, which query lacks; describe it there`],
    [pageLimit !== undefined && kind !== 'numbers', `${name} has a page limit and is no number; make its kind numbers`],
    [startsWith !== undefined && kind !== 'paths', `${name} has prefixes and is no path; make its kind paths`],
    [param.required !== undefined && param.default !== undefined, `${name} is mandatory; remove its default`],
    [!fits(param), `the default of ${name} is not one of its own values; mend it, its kind or allowed`],
    [
      name === 'agent_id' && !['agentId', 'agentIdSet'].includes(param.canonical ?? ''),
      `${name} has more than one spelling; set canonical to agentId`,
    ],
    [
      param.routePattern !== undefined && query.includes(name),
      `routed tells routes apart and ${name} is in the query; remove it`,
    ],
    [
      param.routePattern !== undefined && !/^\^.*\$$/.test(param.routePattern),
      `the route of ${name} is not anchored; write ^(?:…)$`,
    ],
  )
}

function fits(param: Param): boolean {
  if (param.default === undefined) return true
  const text = String(param.default)
  const { pattern }: ValueKind = kinds[param.kind]
  return (pattern === undefined || new RegExp(pattern).test(text)) && (param.allowed?.includes(text) ?? true)
}

export const bodies: Check = (record) => {
  const body = isWrite(record) ? record.body : undefined
  const xmlWhen = body?.kind === 'upload' ? body.xmlWhen : undefined
  return faults(
    [
      xmlWhen !== undefined && !Object.hasOwn(record.query, xmlWhen.query),
      'xmlWhen looks at nothing; name a parameter of query',
    ],
    [body !== undefined && record.method === 'DELETE', 'a DELETE has no body; take the values from the query'],
    [body?.types.length === 0, 'the body has no types; name the content types that it may have'],
    [body?.kind === 'fields' && fieldsOf(record).length === 0, 'the body has no fields; describe them or remove it'],
  )
}

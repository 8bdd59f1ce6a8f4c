/** Checks paths, names, values and bodies of a record. */
import type { Param } from '../../../../src/contracts/endpoint.ts'
import { kinds, type ValueKind } from '../../../../src/contracts/schemas/kinds.ts'
import { type Check, faults, fieldsOf, isWrite, paramsOf, pathNames } from './record-facts.ts'

/** Flags that are removed from every query before validation. */
const FLAGS = ['pretty', 'wait_for_complete']
/** The first names in the list of error 604; filters follow, and `select` is last. */
const FIRST_NAMES = ['offset', 'limit', 'sort', 'search', 'q']

export const checkPath: Check = ({ path }) =>
  faults(
    [!path.startsWith('/'), `the path does not begin with a slash; write /${path}`],
    [path.length > 1 && path.endsWith('/'), 'the path ends with a slash; remove it, the router accepts both forms'],
    [path.includes('//'), 'the path has an empty segment; remove one of the slashes'],
  )

export const checkNames: Check = (record) => {
  const inPath = pathNames(record)
  const described = Object.keys(record.params)
  const query = Object.keys(record.query)
  const all = [...inPath, ...query, ...fieldsOf(record)]
  const twice = all.filter((name, at) => all.indexOf(name) !== at)
  const unknown = (record.oneOf ?? []).filter((name) => !query.includes(name))
  const { raw } = record.response
  return faults(
    [twice.length > 0, `the name ${twice.join(', ')} is used twice; rename one of the parameters`],
    ...inPath.map((name) => [!described.includes(name), `:${name} is not described; add it to params`] as const),
    ...described.map((name) => [!inPath.includes(name), `no :${name} in the path; remove it from params`] as const),
    ...FLAGS.map((name) => [query.includes(name), `${name} is a flag of every request; remove it from query`] as const),
    [unknown.length > 0, `oneOf names ${unknown.join(', ')}, which is not in query; add it there`],
    [raw?.when !== undefined && !query.includes(raw.when), `raw.when is not a parameter of query; name one`],
    [
      record.contract === 'v3' && !inOrder(query),
      `the query is out of order; write ${FIRST_NAMES.join(', ')} first and select last, as 604 lists them`,
    ],
  )
}

function inOrder(query: readonly string[]): boolean {
  const rank = (name: string) => (name === 'select' ? 99 : FIRST_NAMES.includes(name) ? FIRST_NAMES.indexOf(name) : 50)
  return query.every((name, at) => at === 0 || rank(query[at - 1] ?? '') <= rank(name))
}

export const checkValues: Check = (record) =>
  paramsOf(record).flatMap(([name, param]) => checkValue(name, param, Object.keys(record.query)))

function checkValue(name: string, param: Param, query: readonly string[]): readonly string[] {
  const { within, requires, pageLimit, startsWith, kind } = param
  return faults(
    [within !== undefined && !/^\^.*\$$/.test(within.pattern), `within of ${name} is not anchored; write ^(?:…)$`],
    [
      requires !== undefined && !query.includes(requires),
      `${name} requires ${requires}, which is not in query; add it there`,
    ],
    [
      pageLimit !== undefined && kind !== 'numbers',
      `${name} has a page limit but is not a number; set kind to numbers`,
    ],
    [startsWith !== undefined && kind !== 'paths', `${name} has prefixes but is not a path; set kind to paths`],
    [param.required !== undefined && param.default !== undefined, `${name} is required; remove its default`],
    [!fits(param), `the default of ${name} is not a valid value; change the default, kind or allowed`],
    [
      name === 'agent_id' && !['agentId', 'agentIdSet'].includes(param.canonical ?? ''),
      `${name} has several spellings; set canonical to agentId`,
    ],
    [
      param.routePattern !== undefined && query.includes(name),
      `routePattern applies to path parameters and ${name} is in the query; remove it`,
    ],
    [
      param.routePattern !== undefined && !/^\^.*\$$/.test(param.routePattern),
      `routePattern of ${name} is not anchored; write ^(?:…)$`,
    ],
  )
}

function fits(param: Param): boolean {
  if (param.default === undefined) return true
  const text = String(param.default)
  const { pattern }: ValueKind = kinds[param.kind]
  return (pattern === undefined || new RegExp(pattern).test(text)) && (param.allowed?.includes(text) ?? true)
}

export const checkBody: Check = (record) => {
  const body = isWrite(record) ? record.body : undefined
  const xmlWhen = body?.kind === 'upload' ? body.xmlWhen : undefined
  return faults(
    [
      xmlWhen !== undefined && !Object.hasOwn(record.query, xmlWhen.query),
      'xmlWhen is not a parameter of query; name one',
    ],
    [body !== undefined && record.method === 'DELETE', 'a DELETE has no body; use query parameters'],
    [body?.types.length === 0, 'the body has no types; list its media types'],
    [
      body?.kind === 'fields' && !body.open && fieldsOf(record).length === 0,
      'the body has no fields; add them or remove the body',
    ],
  )
}

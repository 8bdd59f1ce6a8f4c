/** What the releases of the v4 layout accept, as `../data/v4-endpoints.yaml` has it. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

/** The minor versions whose descriptions were read. Of the others it is known what their neighbours have in common. */
export const DESCRIBED = [3, 5, 7, 9, 12, 14] as const
export const MINORS = Array.from({ length: 12 }, (_, at) => at + 3)

interface Record_ {
  readonly endpoint: string
  readonly releases?: string
  readonly query?: Readonly<Record<string, string>> | null
  readonly without?: readonly string[]
}

export interface Operation {
  readonly method: string
  readonly path: string
  readonly segments: readonly string[]
  readonly required: readonly string[]
  readonly query: readonly string[]
}

const text = readFileSync(new URL('../data/v4-endpoints.yaml', import.meta.url), 'utf8')
const { operations } = parse(text) as { readonly operations: readonly Record_[] }

const COMMON = ['pretty', 'wait_for_complete']

/** `since 4.5, until 4.7` */
function isOf(minor: number, releases = ''): boolean {
  const [, since = '0'] = /since 4\.(\d+)/.exec(releases) ?? []
  const [, until = '999'] = /until 4\.(\d+)/.exec(releases) ?? []
  return minor >= Number(since) && minor <= Number(until)
}

interface Release5 {
  readonly new: readonly Record_[]
  readonly changed: readonly Record_[]
}

/** As a minor version of 4.x: later than all that were released. */
const RELEASE_5 = 15

/** Returns the operations of release 5.0. */
export function operationsOfRelease5(): readonly Operation[] {
  const described = readFileSync(new URL('../data/v5-operations.yaml', import.meta.url), 'utf8')
  const { new: added, changed } = parse(described) as Release5
  const names = new Set(changed.map(({ endpoint }) => endpoint))
  return operationsIn([...added, ...changed, ...operations.filter(({ endpoint }) => !names.has(endpoint))], RELEASE_5)
}

/** Returns the operations of a described release. */
export function operationsOf(minor: number): readonly Operation[] {
  return operationsIn(operations, minor)
}

function operationsIn(records: readonly Record_[], minor: number): readonly Operation[] {
  return records
    .filter(({ releases }) => isOf(minor, releases))
    .map(({ endpoint, query, without = [] }) => {
      const [method = '', path = ''] = endpoint.split(' ')
      const own = Object.entries(query ?? {}).filter(([, type]) => isOf(minor, type))
      const common = COMMON.filter((name) => !without.includes(name))
      const required = own.filter(([, type]) => type.endsWith(', required')).map(([name]) => name)
      return { method, path, segments: path.split('/'), required, query: [...own.map(([name]) => name), ...common] }
    })
}

/** Returns why a release does not know a call; `undefined`: it does. */
export function findFault(
  known: readonly Operation[],
  call: { readonly method: string; readonly path: string },
): { readonly status: 400 | 404 | 405; readonly detail: string } | undefined {
  const { pathname, searchParams } = new URL(call.path, 'http://node')
  const segments = pathname.split('/')
  const onPath = known.filter((one) => matches(one.segments, segments)).sort((a, b) => literals(b) - literals(a))
  if (onPath.length === 0) return { status: 404, detail: '404: Not Found' }
  const operation = onPath.find(({ method }) => method === call.method)
  if (operation === undefined) return { status: 405, detail: '405: Method Not Allowed' }
  const names = [...searchParams.keys()]
  const extra = names.filter((name) => !operation.query.includes(name))
  if (extra.length > 0) return { status: 400, detail: `Extra query parameter(s) ${extra.join(', ')} not in spec` }
  const missing = operation.required.find((name) => !names.includes(name))
  return missing === undefined ? undefined : { status: 400, detail: `Missing query parameter '${missing}'` }
}

export function matches(wanted: readonly string[], found: readonly string[]): boolean {
  return wanted.length === found.length && wanted.every((part, at) => part.startsWith('{') || part === found[at])
}

function literals({ segments }: Operation): number {
  return segments.filter((part) => !part.startsWith('{')).length
}

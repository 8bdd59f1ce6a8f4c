/** What the records of the v4 contract share: how records, parameters and bodies are built, and common parameters. */
import type {
  Body,
  Endpoint,
  Field,
  NodeTarget,
  Param,
  PassesOnTo,
  ResponseShape,
  RowKind,
  V4Read,
  V4Write,
  WriteMethod,
} from '../endpoint.ts'
import { complete, type OwnParams, type Sketch } from '../record.ts'
import { type Params, pathParams } from './parameters.ts'
import type { Releases, Value } from './value.ts'

/** Fields that a record may omit. */
type Omitted = 'contract' | 'method' | 'path' | 'summary' | 'params' | 'query' | 'secret' | 'response' | 'target'
type Facts<E extends V4Read | V4Write, Path extends string> = Omit<E, Omitted> &
  Partial<Pick<E, 'query' | 'secret' | 'response' | 'target'>> &
  OwnParams<Path, keyof typeof pathParams>

const ITEMS: ResponseShape = { data: 'items', schema: 'V4Item' }
const defaults = { contract: 'v4', response: ITEMS, target: master() } as const

/** Returns the frozen record of a read. `snapshot`: of its cache policy. */
export function read<const Path extends string>(
  path: Path,
  summary: string,
  facts: Facts<V4Read, Path> & { readonly snapshot?: RowKind; readonly storedRows?: 'none' },
): V4Read {
  return completeV4({ ...facts, method: 'GET', path, summary }) as V4Read
}

/** Returns the frozen record of a write. */
export function write<const Path extends string>(
  method: WriteMethod,
  path: Path,
  summary: string,
  facts: Facts<V4Write, Path>,
): V4Write {
  return completeV4({ ...facts, method, path, summary }) as V4Write
}

/** Parameters whose case the manager ignores, by their names: those of queries in each release. */
const IN_LOWER_CASE: ReadonlySet<string> = new Set([
  ...['component', 'configuration', 'hash', 'requirement', 'status', 'type', 'section', 'tag', 'level', 'resource'],
])
/** Those of paths since the later HTTP framework. */
const PATHS_IN_LOWER_CASE: Releases = { since: '4.9' }

/** Without a target, the master answers. */
function completeV4<S extends Sketch & Partial<Pick<Endpoint, 'target'>>>(facts: S): object {
  if (facts.target?.kind === 'edge') return complete({ ...defaults, ...facts }, pathParams)
  const { query = {}, params = {} } = facts
  const inPath = Object.fromEntries(
    Object.entries<Param>({ ...pathParams, ...(params as Params) }).map(ignoringCase(PATHS_IN_LOWER_CASE)),
  )
  const inQuery = Object.fromEntries(Object.entries(query).map(ignoringCase({})))
  return complete({ ...defaults, ...facts, params: inPath, query: inQuery }, {})
}

function ignoringCase(ignoresCase: Releases) {
  return ([name, param]: [string, Param]): [string, Param] => [
    name,
    IN_LOWER_CASE.has(name) ? { ...param, ignoresCase } : param,
  ]
}

/** The master answers, or passes the call on. A worker passes each call on to the master. */
export function master(passesOnTo?: PassesOnTo): NodeTarget {
  return { kind: 'master', through: 'any', ...(passesOnTo && { passesOnTo }) }
}

/** The type of a field in the words of the v3 contract. The v4 one is validated by `value`. */
const FIELD_TYPES: Readonly<Record<Value['type'], Field['type']>> = {
  string: 'string',
  boolean: 'boolean',
  integer: 'integer',
  number: 'integer',
  array: 'strings',
  object: 'string',
}

/** Returns a JSON body with these members. A name with `?` may be missing. `open`: other members are valid too. */
export function json(members: Readonly<Record<string, Value>>, { open }: { readonly open?: true } = {}): Body {
  const fields = Object.entries(members).map(([name, value]): [string, Field] => {
    const isOptional = name.endsWith('?')
    return [
      name.replace('?', ''),
      { type: FIELD_TYPES[value.type], role: '', value, ...(!isOptional && { required: 604 }) },
    ]
  })
  return { kind: 'fields', types: ['application/json'], fields: Object.fromEntries(fields), ...(open && { open }) }
}

export function file(type: 'application/xml' | 'application/octet-stream'): Body {
  return { kind: 'upload', types: [type], wrongType: 607 }
}

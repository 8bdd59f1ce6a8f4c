/** Builds complete, frozen records. The compiler checks that each parameter of the path has a description. */
import type {
  CachePolicy,
  EdgeTarget,
  Method,
  NodeTarget,
  Param,
  ParamsOf,
  RowKind,
  SnapshotCollection,
  StoringPolicy,
  V3Read,
  V3Write,
  WriteMethod,
} from './endpoint.ts'
import { pathParams } from './schemas/params.ts'
import { message } from './schemas/shared.ts'
import type { RowRule, Translation } from './translations/translation.ts'
import table from './translations/translations.json' with { type: 'json' }
import { lastReleaseOf } from './v4/release-5.ts'

/** Fields that a record may omit: no query, unknown names refused where there is a query, no secret. */
type Defaults = 'contract' | 'query' | 'strictQuery' | 'secret' | 'method' | 'path' | 'summary' | 'params'
/** Method and path of the records with a row in `v4/translations.json`. */
export type Translated = keyof typeof table.translations
/** What a node answers has a translation for nodes of the v4 layout: its row of the table, or one that is passed. */
type Answered<Key extends string> =
  | { readonly target: EdgeTarget; readonly translation?: never }
  | ({ readonly target: NodeTarget } & (Key extends Translated
      ? { readonly translation?: never }
      : { translation: Translation }))
type Facts<T extends V3Read | V3Write, Path extends string, Key extends string, More extends keyof T> = Answered<Key> &
  Omit<T, Defaults | More | 'target' | 'translation'> &
  Partial<Pick<T, 'query' | 'strictQuery' | 'secret' | More>> &
  OwnParams<Path, keyof typeof pathParams>

/** Returns the frozen record of a read. `snapshot`, `storedRows`: of its cache policy. */
export function read<const Path extends string>(
  path: Path,
  summary: string,
  facts: Facts<V3Read, Path, `GET ${Path}`, never> & Rows<SnapshotCollection>,
): V3Read<Path> {
  return completeV3('GET', path, summary, facts) as V3Read<Path>
}

/** Returns the frozen record of a write, whose response is a message if its facts have no other. */
export function write<const Path extends string, const Verb extends WriteMethod = WriteMethod>(
  method: Verb,
  path: Path,
  summary: string,
  facts: Facts<V3Write, Path, `${Verb} ${Path}`, 'response'>,
): V3Write<Path> {
  return completeV3(method, path, summary, { response: message, ...facts }) as V3Write<Path>
}

function completeV3(
  method: Method,
  path: string,
  summary: string,
  { translation: own, ...facts }: Pick<Sketch, 'query'> & { readonly translation?: Translation },
): object {
  const key = `${method} ${path}`
  const translation = own ?? (key in table.translations ? translationOf(key as Translated) : undefined)
  const strictQuery = facts.query !== undefined
  return complete(
    {
      contract: 'v3',
      strictQuery,
      ...(translation && { translation: upToLastRelease(translation, method) }),
      method,
      path,
      summary,
      ...facts,
    },
    pathParams,
  )
}

function upToLastRelease(translation: Translation, ofRecord: Method): Translation {
  const { method = ofRecord, path } = translation.call
  const last = lastReleaseOf(method, path.replace('{node}', '/cluster/:node_id'))
  const { releases } = translation
  if (last === undefined || releases === 'none') return translation
  return { ...translation, releases: { ...last, ...releases } }
}

type PathParams = Readonly<Record<string, Param>>
/** The parameters of the path: those that are not shared ones, and any other of them. */
export type OwnParams<Path extends string, Shared extends string = never> = string extends Path
  ? { readonly params?: PathParams }
  : [ParamsOf<Path>] extends [never]
    ? { readonly params?: never }
    : [Exclude<ParamsOf<Path>, Shared>] extends [never]
      ? { readonly params?: Readonly<Partial<Record<ParamsOf<Path>, Param>>> }
      : { readonly params: Readonly<Record<Exclude<ParamsOf<Path>, Shared>, Param>> }

/** Become part of the cache policy. */
interface Rows<Kind> {
  readonly snapshot?: Kind
  readonly storedRows?: NonNullable<StoringPolicy['storedRows']>
}

export interface Sketch extends Rows<RowKind> {
  readonly path: string
  readonly params?: Readonly<Record<string, Param | undefined>>
  readonly query?: Readonly<Record<string, Param>>
  readonly cache?: CachePolicy
}

/** Returns the frozen record of these facts. `shared`: parameters of paths. `snapshot` and `storedRows` become part of the cache policy. */
export function complete<S extends Sketch>({ snapshot, storedRows, ...facts }: S, shared: PathParams): object {
  const names = facts.path.match(/(?<=:)\w+/g) ?? []
  const { cache, params = {} } = facts
  return frozen({
    query: {},
    secret: 'none',
    ...(facts.path.startsWith('/experimental/') && { experimental: true }),
    ...facts,
    params: Object.fromEntries(names.map((name) => [name, params[name] ?? shared[name]])),
    ...(cache && { cache: { ...cache, ...(snapshot && { snapshot }), ...(storedRows && { storedRows }) } }),
  })
}

/** Returns a row of the table. Several rows share their rules for rows of a collection, by name. */
export function translationOf(key: Translated): Translation {
  // A test has the compiler check the table.
  const { response, ...translation } = table.translations[key] as Translation
  const rows: unknown = 'rows' in response ? response.rows : undefined
  const shared: Readonly<Record<string, RowRule>> = table.rows as object as Record<string, RowRule>
  if (typeof rows !== 'string') return { ...translation, response }
  return { ...translation, response: { ...response, rows: shared[rows] } as Translation['response'] }
}

/** Freezes the value deeply: records share parts, so a change of one would change many. */
function frozen<T extends object>(value: T): T {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null && !Object.isFrozen(part)) frozen(part)
  }
  return Object.freeze(value)
}

/** Builds complete, frozen records. The compiler checks that `params` has the names of the path. */
import type { EdgeTarget, Method, NodeTarget, ParamsOf, ReadEndpoint, WriteEndpoint, WriteMethod } from './endpoint.ts'
import type { RowRule, Translation } from './newer/translation.ts'
import table from './newer/translations.json' with { type: 'json' }

/** Fields that a record may omit: no query, unknown names ignored, no secret. */
type Defaults = 'contract' | 'query' | 'strictQuery' | 'secret' | 'method' | 'params'
/** Method and path of the records with a row in `newer/translations.json`. */
export type Translated = keyof typeof table.translations
/** What a node answers has a translation for nodes of the newer layout: its row of the table, or one that is passed. */
type Answered<Key extends string> =
  | { readonly target: EdgeTarget; readonly newer?: never }
  | ({ readonly target: NodeTarget } & (Key extends Translated ? { readonly newer?: never } : { newer: Translation }))
type Sparse<
  T extends ReadEndpoint<Path> | WriteEndpoint<Path>,
  Path extends string,
  Key extends string,
> = Answered<Key> &
  Omit<T, Defaults | 'target' | 'newer'> &
  Partial<Pick<T, 'query' | 'strictQuery' | 'secret'>> &
  ([ParamsOf<Path>] extends [never] ? { readonly params?: never } : Pick<T, 'params'>)

/** Returns the frozen record of a read. */
export function read<const Path extends string>(
  record: Sparse<ReadEndpoint<Path>, Path, `GET ${Path}`>,
): ReadEndpoint<Path> {
  return complete('GET', record) as ReadEndpoint<Path>
}

/** Returns the frozen record of a write. */
export function write<const Path extends string, const Verb extends WriteMethod = WriteMethod>(
  method: Verb,
  record: Sparse<WriteEndpoint<Path>, Path, `${Verb} ${Path}`>,
): WriteEndpoint<Path> {
  return complete(method, record) as WriteEndpoint<Path>
}

function complete(method: Method, record: { readonly path: string }): object {
  const key = `${method} ${record.path}`
  const newer = key in table.translations ? { newer: translationOf(key as Translated) } : {}
  return frozen({
    contract: 'classic',
    query: {},
    strictQuery: false,
    secret: 'none',
    params: {},
    ...newer,
    ...record,
    method,
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
export function frozen<T extends object>(value: T): T {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null && !Object.isFrozen(part)) frozen(part)
  }
  return Object.freeze(value)
}

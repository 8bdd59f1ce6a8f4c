/** Builds complete, frozen records. The compiler checks that `params` has the names of the path. */
import type { EdgeTarget, Method, NodeTarget, ParamsOf, ReadEndpoint, WriteEndpoint, WriteMethod } from './endpoint.ts'
import type { Translation } from './newer/translation.ts'

/** Fields that a record may omit: no query, unknown names ignored, no secret. */
type Defaults = 'query' | 'strictQuery' | 'secret' | 'method' | 'params'
/** What a node answers has a translation for nodes of the newer layout. */
type Answered =
  | { readonly target: NodeTarget; readonly newer: Translation }
  | { readonly target: EdgeTarget; readonly newer?: never }
type Sparse<T extends ReadEndpoint<Path> | WriteEndpoint<Path>, Path extends string> = Answered &
  Omit<T, Defaults | keyof Answered> &
  Partial<Pick<T, 'query' | 'strictQuery' | 'secret'>> &
  ([ParamsOf<Path>] extends [never] ? { readonly params?: never } : Pick<T, 'params'>)

/** Returns the frozen record of a read. */
export function read<const Path extends string>(record: Sparse<ReadEndpoint<Path>, Path>): ReadEndpoint<Path> {
  return complete('GET', record) as ReadEndpoint<Path>
}

/** Returns the frozen record of a write. */
export function write<const Path extends string>(
  method: WriteMethod,
  record: Sparse<WriteEndpoint<Path>, Path>,
): WriteEndpoint<Path> {
  return complete(method, record) as WriteEndpoint<Path>
}

function complete(method: Method, record: object): object {
  return frozen({ query: {}, strictQuery: false, secret: 'none', params: {}, ...record, method })
}

/** Freezes the value deeply: records share parts, so a change of one would change many. */
function frozen<T extends object>(value: T): T {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null && !Object.isFrozen(part)) frozen(part)
  }
  return Object.freeze(value)
}

/** How a record is written: complete, frozen, and with its path’s names checked by the compiler. */
import type { Method, ParamsOf, ReadEndpoint, WriteEndpoint, WriteMethod } from './endpoint.ts'

/** What a record may leave out: no query, unknown names ignored, no secret. */
type Defaults = 'query' | 'strictQuery' | 'secret' | 'method' | 'params'
type Sparse<T extends ReadEndpoint<Path> | WriteEndpoint<Path>, Path extends string> = Omit<T, Defaults> &
  Partial<Pick<T, 'query' | 'strictQuery' | 'secret'>> &
  ([ParamsOf<Path>] extends [never] ? { readonly params?: never } : Pick<T, 'params'>)

/** A frozen record of something that is read. */
export function read<const Path extends string>(record: Sparse<ReadEndpoint<Path>, Path>): ReadEndpoint<Path> {
  return complete('GET', record) as ReadEndpoint<Path>
}

/** A frozen record of something that changes data or acts. */
export function write<const Path extends string>(
  method: WriteMethod,
  record: Sparse<WriteEndpoint<Path>, Path>,
): WriteEndpoint<Path> {
  return complete(method, record) as WriteEndpoint<Path>
}

function complete(method: Method, record: object): object {
  return frozen({ query: {}, strictQuery: false, secret: 'none', params: {}, ...record, method })
}

/** Frozen to the last leaf: records share their parts, so whoever wrote into one would write into many. */
function frozen<T extends object>(value: T): T {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null && !Object.isFrozen(part)) frozen(part)
  }
  return Object.freeze(value)
}

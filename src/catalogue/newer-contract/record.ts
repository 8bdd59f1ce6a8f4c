/** Builds the records of the newer contract, of what most of them have in common. */
import type {
  CachePolicy,
  NodeTarget,
  Param,
  ParamsOf,
  PassesOnTo,
  ReadEndpoint,
  ResponseShape,
  Tag,
  WriteEndpoint,
  WriteMethod,
} from '../endpoint.ts'
import { frozen } from '../record.ts'

/** Fields that a record may omit. */
type Omitted = 'contract' | 'method' | 'params' | 'query' | 'strictQuery' | 'secret' | 'response'
type Sparse<E extends ReadEndpoint | WriteEndpoint, Path extends string> = Omit<E, Omitted | 'path' | 'newer'> &
  Partial<Pick<E, 'query' | 'secret' | 'response'>> & {
    readonly path: Path
  } & ([ParamsOf<Path>] extends [never]
    ? { readonly params?: never }
    : { readonly params: Readonly<Record<ParamsOf<Path>, Param>> })

const ITEMS: ResponseShape = { data: 'items', schema: 'NewerItem' }

/** Returns the frozen record of a read. */
export function read<const Path extends string>(record: Sparse<ReadEndpoint, Path>): ReadEndpoint {
  return complete('GET', record) as ReadEndpoint
}

/** Returns the frozen record of a write. */
export function write<const Path extends string>(
  method: WriteMethod,
  record: Sparse<WriteEndpoint, Path>,
): WriteEndpoint {
  return complete(method, record) as WriteEndpoint
}

function complete(method: ReadEndpoint['method'] | WriteMethod, record: object): object {
  return frozen({
    contract: 'newer',
    params: {},
    query: {},
    strictQuery: true,
    secret: 'none',
    response: ITEMS,
    ...record,
    method,
  })
}

/** The master answers, or passes the call on. A worker passes each call on to the master. */
export function master(passesOnTo?: PassesOnTo): NodeTarget {
  return { kind: 'master', through: 'any', ...(passesOnTo && { passesOnTo }) }
}

/** The nodes cut lists to the rights of the account. `KeySettings.perUser` separates the callers if it is their own account. */
export function cacheIn(group: Extract<CachePolicy, { group: string }>['group'], ...tags: readonly Tag[]): CachePolicy {
  return { group, tags, scope: 'everyone' }
}

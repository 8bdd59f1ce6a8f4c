/** Builds the records of the newer contract, of what most of them have in common. */
import type {
  NewerRows,
  NodeTarget,
  PassesOnTo,
  ReadEndpoint,
  ResponseShape,
  WriteEndpoint,
  WriteMethod,
} from '../endpoint.ts'
import { complete, type OwnParams } from '../record.ts'
import { pathParams } from './params.ts'

/** Fields that a record may omit. */
type Omitted = 'contract' | 'method' | 'path' | 'summary' | 'params' | 'query' | 'strictQuery' | 'secret' | 'response'
type Facts<E extends ReadEndpoint | WriteEndpoint, Path extends string> = Omit<E, Omitted | 'newer'> &
  Partial<Pick<E, 'query' | 'secret' | 'response'>> &
  OwnParams<Path, keyof typeof pathParams>

const ITEMS: ResponseShape = { data: 'items', schema: 'NewerItem' }
const defaults = { contract: 'newer', strictQuery: true, response: ITEMS } as const

/** Returns the frozen record of a read. `snapshot`: of its cache policy. */
export function read<const Path extends string>(
  path: Path,
  summary: string,
  facts: Facts<ReadEndpoint, Path> & { readonly snapshot?: NewerRows },
): ReadEndpoint {
  return complete({ ...defaults, method: 'GET', path, summary, ...facts }, pathParams) as ReadEndpoint
}

/** Returns the frozen record of a write. */
export function write<const Path extends string>(
  method: WriteMethod,
  path: Path,
  summary: string,
  facts: Facts<WriteEndpoint, Path>,
): WriteEndpoint {
  return complete({ ...defaults, method, path, summary, ...facts }, pathParams) as WriteEndpoint
}

/** The master answers, or passes the call on. A worker passes each call on to the master. */
export function master(passesOnTo?: PassesOnTo): NodeTarget {
  return { kind: 'master', through: 'any', ...(passesOnTo && { passesOnTo }) }
}

/** What the ports for clients accept: the pipeline needs it before the ports exist. */
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { Config } from '../config/schema.ts'
import type { Contract, Endpoint } from '../contracts/endpoint.ts'
import { bothContracts, catalogue } from '../contracts/index.ts'
import { v4Contract as v4Records, withManagerUsers } from '../contracts/v4/index.ts'
import { parseName } from '../core/endpoint-names.ts'
import { EdgeError, ProblemError } from '../core/errors.ts'
import type { HttpContract } from '../http/contract.ts'
import { createReadFinder, createUrlResolver, type FindRead, type ResolveUrl } from '../http/resolve-url.ts'
import { v3Contract } from '../http/v3.ts'
import { v4Contract } from '../http/v4/contract.ts'
import type { Cluster } from '../upstream/index.ts'

export interface PortSettings {
  readonly contract: Contract
  readonly port: number
}

export type Contracts = ReturnType<typeof buildContracts>

/** Returns the contracts of the ports, and the functions that find reads in them. */
export function buildContracts({ initial, current }: ReloadableConfig, cluster: Cluster) {
  const usesManagerUsers = initial.cluster.credentials.mode === 'passthrough'
  const create = {
    v3: v3Contract(catalogue),
    v4: v4Contract({
      catalogue: usesManagerUsers ? withManagerUsers(v4Records) : v4Records,
      releases: () => cluster.view.releases(),
    }),
  }
  const served: ServedContracts = new Map(
    portsOf(initial.listen).map(({ contract }) => [contract, create[contract](current)]),
  )
  const v4 = served.get('v4')
  const findV4Read: FindRead = v4 === undefined ? () => undefined : createReadFinder(v4)
  return { served, resolveUrl: resolverOf(served), findV4Read }
}

export type ServedContracts = ReadonlyMap<Contract, HttpContract>

/**
 * Resolves the name of a URL at the port of its contract. Throws 604 if there is none, or the caller may not use it: in mode
 * passthrough, the credentials of a caller are those of one contract, and so are its stored responses.
 */
function resolverOf(served: ServedContracts): ResolveUrl {
  const resolvers = new Map([...served].map(([name, contract]) => [name, createUrlResolver(contract)]))
  return (name, caller) => {
    const { contract, path } = parseName(name)
    const resolve = resolvers.get(contract)
    if (resolve === undefined) throw new EdgeError(604, `. No port of this edge serves the ${contract} contract`)
    const ofOther = contract === 'v4' ? caller.credentials : caller.nodeToken
    if (ofOther !== undefined) throw new EdgeError(604, `. Explain this url at the port of the ${contract} contract`)
    try {
      return resolve(path, caller)
    } catch (error) {
      // The url is a parameter of the request that is answered.
      if (error instanceof ProblemError && error.code === 614)
        throw new ProblemError(604, { title: error.title, detail: error.detail })
      throw error
    }
  }
}

/** Returns the records of the contracts that clients can use. */
export function servedRecords({ listen }: Pick<Config, 'listen'>): readonly Endpoint[] {
  const contracts = new Set(portsOf(listen).map(({ contract }) => contract))
  return bothContracts.filter(({ contract }) => contracts.has(contract))
}

export function servesV4Contract(listen: Config['listen']): boolean {
  return portsOf(listen).some(({ contract }) => contract === 'v4')
}

export function portsOf({ contract, port, secondPort }: Config['listen']): readonly PortSettings[] {
  const other = contract === 'v3' ? 'v4' : 'v3'
  return [{ contract, port }, ...(secondPort === undefined ? [] : [{ contract: other, port: secondPort } as const])]
}

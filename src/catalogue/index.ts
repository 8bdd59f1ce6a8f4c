/** The catalogue: every endpoint of the v3 contract, those of both contracts, and every permission that a role can grant. */
import { activeResponse, agentCommands } from './agent-commands.ts'
import { agentRegistry, agents } from './agents.ts'
import type { Endpoint } from './endpoint.ts'
import { groups } from './groups.ts'
import { cluster, manager } from './nodes.ts'
import { decoders, lists, rules } from './ruleset.ts'
import { ciscat, rootcheck, sca, syscheck } from './scans.ts'
import { cache, service, summary, tokens } from './service.ts'
import { syscollector } from './syscollector.ts'
import { v4Contract } from './v4-contract/index.ts'

/** All records by section. If two paths match, the router prefers a literal segment to a parameter. */
export const catalogue: readonly Endpoint[] = Object.freeze([
  ...activeResponse,
  ...agentRegistry,
  ...agents,
  ...agentCommands,
  ...groups,
  ...cache,
  ...ciscat,
  ...manager,
  ...cluster,
  ...decoders,
  ...rules,
  ...lists,
  ...rootcheck,
  ...syscheck,
  ...sca,
  ...syscollector,
  ...summary,
  ...service,
  ...tokens,
])

export const bothContracts: readonly Endpoint[] = Object.freeze([...catalogue, ...v4Contract])

/** Permissions that no record names: secrets, stored responses of other scopes, the operations listener, draining nodes. */
const permissionsWithoutRecord = ['secrets:read', 'cache:read', 'operations:read', 'nodes:drain']

/** Every permission that a role may list, sorted: those of both contracts. */
export const permissions: readonly string[] = Object.freeze(
  [...new Set([...bothContracts.map(({ permission }) => permission), ...permissionsWithoutRecord])]
    .filter((permission) => permission !== 'signedIn')
    .sort(),
)

/** The catalogue: every endpoint of the v3 contract, those of both contracts, and every permission that a role can grant. */

import type { Endpoint, V3Endpoint } from './endpoint.ts'
import { activeResponse, agentCommands } from './v3/agent-commands.ts'
import { agentRegistry } from './v3/agent-registry.ts'
import { agents } from './v3/agents.ts'
import { groups } from './v3/groups.ts'
import { nodes } from './v3/nodes.ts'
import { ruleset } from './v3/ruleset.ts'
import { ciscat, rootcheck, sca, syscheck } from './v3/scans.ts'
import { cache, service, summary, tokens } from './v3/service.ts'
import { syscollector } from './v3/syscollector.ts'
import { v4Contract } from './v4/index.ts'

/** All records by section. If two paths match, the router prefers a literal segment to a parameter. */
export const catalogue: readonly V3Endpoint[] = Object.freeze([
  ...activeResponse,
  ...agentRegistry,
  ...agents,
  ...agentCommands,
  ...groups,
  ...cache,
  ...ciscat,
  ...nodes,
  ...ruleset,
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

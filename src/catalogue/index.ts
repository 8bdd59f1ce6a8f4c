import { activeResponse, agentCommands } from './agent-commands.ts'
import { agentRegistry } from './agent-registry.ts'
import { agents } from './agents.ts'
import { cache } from './cache.ts'
import { ciscat } from './ciscat.ts'
import { cluster } from './cluster.ts'
import type { Endpoint } from './endpoint.ts'
import { groups } from './groups.ts'
import { manager } from './manager.ts'
import { rootcheck } from './rootcheck.ts'
import { decoders, lists, rules } from './ruleset.ts'
import { sca } from './sca.ts'
import { service, summary, tokens } from './service.ts'
import { syscheck } from './syscheck.ts'
import { syscollector } from './syscollector.ts'
/** The catalogue: every endpoint that the edge serves, and every permission that a role can hold. */

/** All records, in the order of the seed's sections. Which of two paths wins is the router’s: a literal segment before a parameter. */
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

/** The permissions that no record names: reading answers with secrets, and the operators’ listener. */
const beside = ['secrets:read', 'operations:read']

/** Every permission, sorted: what a role may list. */
export const permissions: readonly string[] = Object.freeze(
  [...new Set([...catalogue.map(({ permission }) => permission), ...beside])]
    .filter((permission) => permission !== 'signedIn')
    .sort(),
)

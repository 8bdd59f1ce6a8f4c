/** All calls of the newer API that the simulator answers. */
import type { Call } from '../model.ts'
import { agentCalls } from './agents.ts'
import { clusterCalls } from './cluster.ts'
import { inventoryCalls } from './inventory.ts'
import { managerCalls } from './manager.ts'
import { rulesetCalls } from './ruleset.ts'
import { securityCalls } from './security.ts'

export const calls: readonly Call[] = [
  ...clusterCalls,
  ...securityCalls,
  ...managerCalls,
  ...agentCalls,
  ...inventoryCalls,
  ...rulesetCalls,
]

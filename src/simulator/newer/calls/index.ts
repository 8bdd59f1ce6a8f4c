/** All calls of the newer API that the simulator answers. */
import type { Call } from '../model.ts'
import { agentCalls } from './agents.ts'
import { clusterCalls } from './cluster.ts'
import { commandCalls } from './commands.ts'
import { componentCalls } from './components.ts'
import { configurationCalls } from './configuration.ts'
import { fileCalls } from './files.ts'
import { groupFileCalls } from './group-files.ts'
import { groupCalls } from './groups.ts'
import { inventoryCalls } from './inventory.ts'
import { listCalls } from './lists.ts'
import { managerCalls } from './manager.ts'
import { registryCalls } from './registry.ts'
import { rulesetCalls } from './ruleset.ts'
import { scaCalls } from './sca.ts'
import { scanCalls } from './scans.ts'
import { securityCalls } from './security.ts'
import { summaryCalls } from './summary.ts'

export const calls: readonly Call[] = [
  ...clusterCalls,
  ...securityCalls,
  ...managerCalls,
  ...configurationCalls,
  ...componentCalls,
  ...agentCalls,
  ...registryCalls,
  ...commandCalls,
  ...groupCalls,
  ...groupFileCalls,
  ...summaryCalls,
  ...inventoryCalls,
  ...scanCalls,
  ...scaCalls,
  ...rulesetCalls,
  ...listCalls,
  ...fileCalls,
]

/** All handlers of the simulated manager by method and path. */
import type { SimHandlers } from '../model.ts'
import { agentConfigHandlers } from './agent-config.ts'
import { agentHandlers } from './agents.ts'
import { ciscatHandlers } from './ciscat.ts'
import { clusterHandlers } from './cluster.ts'
import { fileHandlers } from './files.ts'
import { groupConfigHandlers } from './group-config.ts'
import { groupHandlers } from './groups.ts'
import { inventoryHandlers } from './inventory.ts'
import { listHandlers } from './lists.ts'
import { managerHandlers } from './manager.ts'
import { registryHandlers } from './registry.ts'
import { commandHandlers } from './restart.ts'
import { rulesetHandlers } from './ruleset.ts'
import { scaHandlers } from './sca.ts'
import { scanHandlers } from './scans.ts'
import { summaryHandlers } from './summary.ts'

/** Without `/cluster/:node_id/…`: the named node executes the `/manager/…` twin. */
export const handlers: SimHandlers = {
  ...agentHandlers,
  ...agentConfigHandlers,
  ...registryHandlers,
  ...commandHandlers,
  ...groupHandlers,
  ...groupConfigHandlers,
  ...summaryHandlers,
  ...clusterHandlers,
  ...managerHandlers,
  ...fileHandlers,
  ...rulesetHandlers,
  ...listHandlers,
  ...inventoryHandlers,
  ...scanHandlers,
  ...scaHandlers,
  ...ciscatHandlers,
}

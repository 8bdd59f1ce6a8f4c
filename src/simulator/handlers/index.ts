/** Every handler of the simulated manager, by the catalogue's method and path. */
import type { SimHandlers } from '../model.ts'
import { refusal } from '../texts.ts'
import { agentConfigHandlers } from './agent-config.ts'
import { agentHandlers } from './agents.ts'
import { clusterHandlers } from './cluster.ts'
import { groupConfigHandlers } from './group-config.ts'
import { groupHandlers } from './groups.ts'
import { registryHandlers } from './registry.ts'
import { commandHandlers } from './restart.ts'
import { summaryHandlers } from './summary.ts'

export const handlers: SimHandlers = {
  ...agentConfigHandlers(() => {
    throw refusal(1117)
  }),
  ...agentHandlers,
  ...registryHandlers,
  ...commandHandlers,
  ...groupHandlers,
  ...groupConfigHandlers,
  ...summaryHandlers,
  ...clusterHandlers,
}

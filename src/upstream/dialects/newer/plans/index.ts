/** The plans of the newer layout: how many calls a request needs, and what they give together. */
import type { Plan } from '../../../../catalogue/newer/translation.ts'
import { allAgents } from './all-agents.ts'
import { configuration } from './configuration.ts'
import { download } from './download.ts'
import { restart, verdict } from './every-node.ts'
import { deleteFile, readFile, writeFile } from './files.ts'
import { info } from './info.ts'
import { lists } from './lists.ts'
import { logs } from './logs.ts'
import { oneCall } from './one-call.ts'
import type { RunPlan } from './plan.ts'
import { removeAgent } from './remove-agent.ts'
import { removeGroups } from './remove-groups.ts'
import { rowsOfAgent } from './rows-of-agent.ts'
import { agentCounts, summary } from './summary.ts'
import { upgradeResult } from './upgrade-result.ts'

export const plans: Readonly<Record<Plan | 'oneCall', RunPlan>> = {
  oneCall,
  download: download(oneCall),
  allAgents,
  removeAgent,
  removeGroups,
  rowsOfAgent,
  summary,
  agentCounts,
  upgradeResult,
  configuration,
  info,
  lists,
  logs,
  readFile,
  writeFile,
  deleteFile,
  restart,
  verdict,
}

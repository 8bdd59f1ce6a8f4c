/** The plans of the newer layout: how many calls a request needs, and what they give together. */
import type { Plan } from '../../../../catalogue/newer/translation.ts'
import type { RunPlan } from '../answer.ts'
import { allAgents } from './all-agents.ts'
import { removeAgent, upgradeResult } from './delayed.ts'
import { restart, verdict } from './every-node.ts'
import { deleteFile, readFile, writeFile } from './files.ts'
import { oneCall } from './one-call.ts'
import { configuration, download, info, lists, logs, rowsOfAgent } from './reads.ts'
import { removeGroups } from './remove-groups.ts'
import { agentCounts, summary } from './summary.ts'

export const plans: Readonly<Record<Plan | 'oneCall', RunPlan>> = {
  oneCall,
  download,
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

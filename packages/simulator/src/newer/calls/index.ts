/** The calls of the newer API that the simulator answers, by release. */
import type { Call } from '../model.ts'
import type { Params } from '../parameters.ts'
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

const calls: readonly Call[] = [
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

/** Returns the calls of a release, each with the parameters that it has there. `version`: `4.5.4`. */
export function callsOf(version: string): readonly Call[] {
  const minor = minorOf(version)
  return calls.flatMap((call) => {
    if (minor < (call.since ?? 0) || minor > (call.until ?? NEWEST)) return []
    return [{ ...call, ...(call.query && { query: paramsIn(minor, call.query) }) }]
  })
}

const NEWEST = Number.POSITIVE_INFINITY

export function minorOf(version: string): number {
  return Number(/^v?4\.(\d+)/.exec(version)?.[1] ?? NEWEST)
}

function paramsIn(minor: number, params: Params): Params {
  return Object.fromEntries(Object.entries(params).filter(([, { since = 0 }]) => minor >= since))
}

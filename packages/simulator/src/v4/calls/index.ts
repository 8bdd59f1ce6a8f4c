/** The calls of the v4 API that the simulator answers, by release. */
import type { Call, Operation } from '../model.ts'
import { acceptedBy } from '../operations/index.ts'
import { minorOf, RELEASE_5 } from '../releases.ts'
import { agentCalls } from './agents.ts'
import { clusterCalls } from './cluster.ts'
import { commandCalls } from './commands.ts'
import { componentCalls } from './components.ts'
import { configurationCalls } from './configuration.ts'
import { daemonStatCalls } from './daemon-stats.ts'
import { fileCalls } from './files.ts'
import { groupFileCalls } from './group-files.ts'
import { groupCalls } from './groups.ts'
import { inventoryCalls } from './inventory.ts'
import { listCalls } from './lists.ts'
import { logtestCalls } from './logtest.ts'
import { managerCalls } from './manager.ts'
import { mitreCalls } from './mitre.ts'
import { nodeStateCalls } from './node-state.ts'
import { registryCalls } from './registry.ts'
import { changesOf5, newCallsOf5 } from './release-5.ts'
import { rulesetCalls } from './ruleset.ts'
import { scaCalls } from './sca.ts'
import { scanCalls } from './scans.ts'
import { securityCalls } from './security/index.ts'
import { summaryCalls } from './summary.ts'
import { vulnerabilityCalls } from './vulnerabilities.ts'

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
  ...mitreCalls,
  ...vulnerabilityCalls,
  ...logtestCalls,
  ...daemonStatCalls,
  ...nodeStateCalls,
]

const nameOf = ({ method, path }: Call) => `${method} ${path}`

/** Returns the calls of a release, each with what it accepts there. `version`: `4.5.4`. */
export function callsOf(version: string): readonly Operation[] {
  const minor = minorOf(version)
  const isLater = minor >= RELEASE_5
  return [...calls, ...(isLater ? newCallsOf5 : [])].flatMap((call) => {
    const accepted = acceptedBy(nameOf(call), minor)
    return accepted === undefined ? [] : [{ ...call, ...(isLater && changesOf5[nameOf(call)]), ...accepted }]
  })
}

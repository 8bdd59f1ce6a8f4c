/** Rules for several processes behind one port: they need what several replicas need. */
import { usedServers } from './cache-rules.ts'
import type { Report, Rule } from './rules.ts'
import type { Config } from './schema.ts'
import { pathOf } from './tree.ts'

export const processRules: readonly Rule[] = [
  {
    paths: ['listen.processes', 'cache.redis', 'access.tokens', 'cluster.credentials'].map(pathOf),
    check: checkProcesses,
  },
]

/** `auto` needs the same on a machine with one core: a file that is valid on one machine is valid on all. */
function checkProcesses({ listen, cache, access, cluster }: Config, report: Report): void {
  if (listen.processes === 1) return
  const path = ['listen', 'processes']
  if (usedServers(cache.redis).length === 0) {
    const reason = 'needs Redis, because processes that do not share one do not know of the writes of each other'
    report(path, `${reason}; set cache.redis, or set listen.processes: 1`)
  }
  if (cluster.credentials.mode === 'service' && access.tokens.keys === undefined) {
    const remedy = 'create a key with "manager-edge token key FOLDER", and name the folder there'
    report(path, `needs access.tokens.keys, because each process would refuse the tokens of the others; ${remedy}`)
  }
}

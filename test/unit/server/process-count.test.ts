import { availableParallelism } from 'node:os'
import t from 'tap'
import { loadConfig } from '../../../src/config/index.ts'
import type { Config } from '../../../src/config/schema.ts'
import { auditFileOf, configOfProcess, cpuQuota, processCountOf } from '../../../src/server/process-count.ts'

const env = {
  EDGE_CLUSTER_NODES: '[{ name: master, type: master, url: "http://127.0.0.1:1" }]',
  EDGE_CLUSTER_CREDENTIALS_USERNAME: 'edge',
  EDGE_CLUSTER_CREDENTIALS_PASSWORD: 'only-for-tests',
  EDGE_ACCESS_USERS: '/dev/null',
}
const redis = { EDGE_CACHE_REDIS_URL: 'redis://127.0.0.1:1' }
const keys = { EDGE_ACCESS_TOKENS_KEYS: '/tmp' }

async function faultsOf(more: Record<string, string>): Promise<readonly string[]> {
  const loaded = await loadConfig({ env: { ...env, ...more } })
  return loaded.ok ? [] : loaded.faults
}

async function configOf(more: Record<string, string>): Promise<Config> {
  const loaded = await loadConfig({ env: { ...env, ...redis, ...keys, ...more } })
  if (!loaded.ok) throw new Error(loaded.faults.join('\n'))
  return loaded.config
}

t.test('several processes need Redis and token keys, and a refusal states the reason', async (t) => {
  for (const processes of ['2', 'auto']) {
    t.match(await faultsOf({ ...keys, EDGE_LISTEN_PROCESSES: processes }), [
      /EDGE_LISTEN_PROCESSES listen\.processes: needs Redis, because .* do not know of the writes of each other; set cache\.redis, or/,
    ])
    t.match(await faultsOf({ ...redis, EDGE_LISTEN_PROCESSES: processes }), [
      /EDGE_LISTEN_PROCESSES listen\.processes: needs access\.tokens\.keys, because each process would refuse the tokens of the others/,
    ])
    t.strictSame(await faultsOf({ ...redis, ...keys, EDGE_LISTEN_PROCESSES: processes }), [])
  }
  t.strictSame(await faultsOf({ EDGE_LISTEN_PROCESSES: '1' }), [])
  for (const wrong of ['0', '65', 'many', '1.5'])
    t.match(await faultsOf({ EDGE_LISTEN_PROCESSES: wrong }), [/must be auto, or an integer from 1 to 64/], wrong)
})

t.test('auto means one process for each core that this process may use', async (t) => {
  t.equal(processCountOf(await configOf({ EDGE_LISTEN_PROCESSES: '3' })), 3)
  const count = processCountOf(await configOf({ EDGE_LISTEN_PROCESSES: 'auto' }))
  t.ok(count >= 1 && count <= availableParallelism(), `${count}`)
})

t.test('a limit on CPU of a group above counts, and no limit is infinite', async (t) => {
  const files = (texts: Record<string, string>) => (file: string) => {
    const text = texts[file]
    if (text === undefined) throw new Error(`ENOENT ${file}`)
    return text
  }
  const group = { '/proc/self/cgroup': '0::/system.slice/edge.service\n' }
  const limit = '/sys/fs/cgroup/system.slice/edge.service/cpu.max'
  t.equal(cpuQuota(files({})), Number.POSITIVE_INFINITY)
  t.equal(cpuQuota(files({ ...group, [limit]: 'max 100000\n' })), Number.POSITIVE_INFINITY)
  t.equal(cpuQuota(files({ ...group, [limit]: '150000 100000\n' })), 1.5)
  const above = { '/sys/fs/cgroup/system.slice/cpu.max': '100000 100000\n' }
  t.equal(cpuQuota(files({ ...group, ...above, [limit]: '400000 100000\n' })), 1)
  t.equal(cpuQuota(files({ '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': '200000 100000\n' })), 2)
})

t.test('each process has its own name and its own audit file; all else is the same', async (t) => {
  const config = await configOf({ EDGE_LISTEN_PROCESSES: 'auto', EDGE_AUDIT_FILE: '/tmp/audit.jsonl' })
  const own = configOfProcess(config, { number: 2, edge: 'host-77', processes: 2 })
  t.equal(own.replica.name, 'host-77-2')
  t.equal(own.audit.file, '/tmp/audit-2.jsonl')
  t.equal(own.listen.processes, 2, 'the number at the start of the edge, so that a change is reported')
  t.strictSame({ ...own, replica: 0, audit: 0, listen: 0 }, { ...config, replica: 0, audit: 0, listen: 0 })
  const named = configOfProcess({ ...config, replica: { name: 'rack2' } }, { number: 1, edge: 'x', processes: 2 })
  t.equal(named.replica.name, 'rack2-1')
  t.equal(auditFileOf('/var/log/audit', 3), '/var/log/audit-3')
  t.equal(auditFileOf('/dev/stdout', 3), '/dev/stdout')
})

/** What one read of a client costs at 3,000 agents: at most two calls for each node and ten more. */
import t from 'tap'
import { catalogue } from '../../../src/catalogue/index.ts'
import { simulated } from '../../support/simulated.ts'

const AGENTS = 3000
const WORKERS = 2
const PRICE = 2 * (WORKERS + 1) + 10

const ways = [
  { name: 'mode manager', layout: 'classic', distribution: 'manager' },
  { name: 'mode edge', layout: 'classic', distribution: 'edge' },
  { name: 'newer layout', layout: 'newer', distribution: 'manager' },
] as const

/** Values for the names in paths of reads. */
const VALUES: Readonly<Record<string, string>> = {
  agent_id: '001',
  agent_name: 'agent-1',
  group_id: 'default',
  node_id: 'master',
  node_ids: '*',
  component: 'agent',
  configuration: 'client',
  requirement: 'pci',
  file_name: 'agent.conf',
  policy_id: 'unix_audit',
  rule_id: '5501',
  decoder_name: 'sshd',
  ip: '127.0.0.1',
}

for (const { name, layout, distribution } of ways) {
  t.test(`${name}: no read of a client costs more`, async (t) => {
    const settings = { cluster: { distribution, discover: false, limits: { perMinute: 0 } } }
    const world = { agents: AGENTS, workers: WORKERS, layout, distributed: distribution === 'manager' }
    const { simulator, edge } = await simulated(t, world, { settings })
    const reads = catalogue.filter(({ method, path }) => method === 'GET' && !path.startsWith('/cache'))
    t.ok(reads.length > 80, `${reads.length} reads`)
    for (const { path } of reads) {
      const target = path.replaceAll(/:(\w+)/g, (_, value: string) => VALUES[value] ?? 'none')
      const before = simulator.seen.length
      const answer = await fetch(edge.url + target, { headers: { authorization: edge.authorization('admin') } })
      const text = await answer.text()
      const calls = simulator.seen.slice(before).flatMap(({ url }) => (url === '/' ? [] : [url]))
      t.ok(calls.length <= PRICE, `${target}: ${calls.length} calls of ${PRICE}`, { calls })
      if (!path.startsWith('/experimental/')) continue
      const { error, data } = JSON.parse(text)
      // The newer layout has no CIS-CAT.
      if (layout === 'newer' && error !== 0) continue
      t.match(data.covered_agents, { covered: Number, all: Number }, target)
      t.ok(data.covered_agents.covered < data.covered_agents.all)
      t.ok(answer.headers.get('cluster-status')?.includes(`*;agents=${data.covered_agents.covered};all-agents=`))
      t.notMatch(answer.headers.get('cache-status'), /stored/)
    }
  })
}

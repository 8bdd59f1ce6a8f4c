import { hostname } from 'node:os'
import t from 'tap'
import { loadConfig } from '../../../src/config/index.ts'
import { simulated } from '../../support/simulated.ts'

t.test('the console, the metrics and the audit records name a replica by the setting replica.name', async (t) => {
  const settings = { replica: { name: 'edge-1' }, operations: { metrics: 'open' } }
  const { edge } = await simulated(t, { agents: 2, workers: 0 }, { settings })
  const headers = { authorization: edge.authorization('operator') }
  const now = (await (await fetch(`${edge.operationsUrl}/api/now`, { headers })).json()) as { edge: { name: string } }
  t.equal(now.edge.name, 'edge-1')
  t.match(await (await fetch(`${edge.operationsUrl}/metrics`)).text(), /^edge_build_info\{[^}]*replica="edge-1"\} 1$/m)
  await (await fetch(`${edge.url}/cache`, { method: 'DELETE', headers })).text()
  const lines = edge.logged.map((line) => JSON.parse(line) as { msg?: string; line?: string })
  const records = lines.flatMap(({ msg, line }) => (msg === 'audit' && line ? [JSON.parse(line) as object] : []))
  t.ok(records.length > 0)
  for (const record of records) t.match(record, { replica: 'edge-1' })
})

t.test('without the setting, the name is the host name and the process id', async (t) => {
  const { edge } = await simulated(t, { agents: 2, workers: 0 })
  const headers = { authorization: edge.authorization('operator') }
  const now = (await (await fetch(`${edge.operationsUrl}/api/now`, { headers })).json()) as { edge: { name: string } }
  t.equal(now.edge.name, `${hostname()}-${process.pid}`)
})

t.test('a name with other characters is refused with the form that it must have', async (t) => {
  const loaded = await loadConfig({ env: { EDGE_REPLICA_NAME: 'edge 1\n' } })
  if (loaded.ok) return t.fail('the name was accepted')
  t.match(loaded.faults.join('\n'), /replica\.name.*letters, digits/)
})

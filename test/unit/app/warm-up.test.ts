import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { warmUp } from '../../../src/app/warm-up.ts'
import { loadConfig } from '../../../src/config/index.ts'

t.test('the warm-up serves misses and hits without a call to the configured nodes', async (t) => {
  let calls = 0
  const node = createServer((_request, response) => {
    calls += 1
    response.end()
  }).listen(0, '127.0.0.1')
  t.teardown(() => node.close())
  await once(node, 'listening')
  const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}`
  const nodes = JSON.stringify([{ name: 'master', type: 'master', url }])
  const loaded = await loadConfig({
    env: {
      EDGE_CLUSTER_NODES: nodes,
      EDGE_CLUSTER_CREDENTIALS_MODE: 'passthrough',
      EDGE_ACCESS_LIMITS_REQUESTSPERSECOND: '1',
    },
  })
  if (!loaded.ok) throw new Error(loaded.faults.join('\n'))
  const cpu = process.cpuUsage()
  const { responses, hits } = await warmUp(loaded.config, Number.POSITIVE_INFINITY)
  const { user, system } = process.cpuUsage(cpu)
  t.comment(`${(user + system) / 1000} ms of CPU`)
  t.equal(calls, 0)
  t.ok(responses > 100, `${responses} responses`)
  t.ok(hits > responses / 2, `${hits} hits`)
})

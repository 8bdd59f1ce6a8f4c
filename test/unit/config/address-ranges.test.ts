import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../../src/config/index.ts'
import { clientAddress } from '../../../src/http/client-address.ts'
import { createCluster } from '../../../src/upstream/index.ts'
import { file, withGroup } from './settings-text.ts'

const good = ['10.0.0.0/8', '10.0.0.10', 'fd00::/8', '2001:db8::ffff:1/128', '2001:db8::ffff:1', '::1', '0.0.0.0/1']
const bad = [
  '0:0:0:0:0:ffff:a00:0/104',
  '0000:0000:0000:0000:0000:ffff:0a00:0000/104',
  '::ffff:10.0.0.0/8',
  '::ffff:10.0.0.0/104',
  '::ffff:10.0.0.1',
  '10.0.0.0/33',
  'fd00::/129',
  'fe80::1%eth0',
  'localhost',
]

function throws(action: () => unknown): boolean {
  try {
    action()
    return false
  } catch {
    return true
  }
}

t.test('the settings, the nodes and the trusted proxies accept the same address ranges', async (t) => {
  const path = join(t.testdir({ users: '' }), 'edge.yaml')
  for (const range of [...good, ...bad]) {
    writeFileSync(path, file({ cluster: withGroup(`addresses: ['${range}']`) }))
    const { ok } = await loadConfig({ file: path, env: {} })
    t.equal(ok, good.includes(range), `the settings: ${range}`)
    const isRefusedByCluster = throws(() =>
      createCluster({
        nodes: [{ name: 'master', type: 'master', url: 'http://node.example:1' }],
        discover: false,
        limits: () => ({ inFlight: 1, queue: 1, timeout: 1, response: 1 }),
        credentials: { mode: 'passthrough' },
        allowedAddresses: [range],
      }).close(),
    )
    t.equal(isRefusedByCluster, !ok, `cluster.addresses: ${range}`)
    t.equal(
      throws(() => clientAddress([range])),
      !ok,
      `listen.trustedProxies: ${range}`,
    )
  }
})

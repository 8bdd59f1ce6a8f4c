import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { type Cluster, createCluster } from '../../../src/upstream/index.ts'
import { eventually } from '../../support/eventually.ts'

const times = { interval: 50, slowInterval: 500, timeout: 2000, idleInterval: 60_000 }
const ROUNDS = 6
const credentials = { mode: 'service', username: 'edge', password: 'only-for-tests' } as const
const limits = { inFlight: 4, queue: 256, timeout: 2000, response: 1 << 20 }

/** A node whose connections end at once, and that counts them. */
async function brokenNode(t: Test) {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    socket.destroy()
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, connections: () => connections }
}

/**
 * Waits for `ROUNDS` slow intervals in which the timers of this process ran: those of the replicas run here too, and a machine
 * whose cores are busy delays them. Returns how many such intervals have passed, `ROUNDS` on an idle machine.
 */
async function passRounds(): Promise<number> {
  const began = performance.now()
  for (let at = 0; at < (ROUNDS * times.slowInterval) / times.interval; at += 1) await wait(times.interval)
  return Math.round((performance.now() - began) / times.slowInterval)
}

interface Replica {
  readonly cluster: Cluster
  readonly contacts: Cluster['contacts']
}

/** Replicas whose reports reach the others at once. `masters`: where each of them finds the master. */
async function startReplicas(t: Test, masters: readonly string[], workerUrl: string): Promise<readonly Replica[]> {
  const replicas: Replica[] = []
  for (const url of masters) {
    const cluster: Cluster = createCluster({
      nodes: [
        { name: 'master', type: 'master', url },
        { name: 'worker-1', type: 'worker', url: workerUrl },
      ],
      discover: false,
      credentials,
      limits: () => limits,
      // Each probe is a call: an ejected node would get none.
      ejection: { failures: 1_000_000, refusals: 1_000_000 },
      contactTimes: times,
      peers: () =>
        replicas.filter((each) => each.contacts !== contacts).map((each) => ({ ...each.contacts.report(), ago: 0 })),
    })
    const { contacts } = cluster
    replicas.push({ cluster, contacts })
    t.teardown(() => cluster.close())
  }
  await Promise.all(replicas.map(({ cluster }) => cluster.start()))
  return replicas
}

async function startMaster(t: Test) {
  const simulator = await startSimulator({ workers: 0, username: 'edge', password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  return { simulator, url: simulator.nodes[0]?.url ?? '' }
}

t.test('a node that fails is probed by one of four replicas', async (t) => {
  const broken = await brokenNode(t)
  const { url } = await startMaster(t)
  const replicas = await startReplicas(t, [url, url, url, url], broken.url)
  await eventually(() => replicas.every(({ contacts }) => contacts.report().failing.length > 0))
  // The first round may be one of each replica.
  await wait(2 * times.slowInterval)
  const before = broken.connections()
  const rounds = await passRounds()
  const probes = broken.connections() - before
  // A probe has one retry.
  t.ok(probes >= ROUNDS / 2 && probes <= 2 * (rounds + 2), `${probes} connections in ${rounds} rounds`)
})

t.test('while a replica is cut off, one of the others finds out whether it is alone', async (t) => {
  const broken = await brokenNode(t)
  const { simulator, url } = await startMaster(t)
  const replicas = await startReplicas(t, [url, url, url, broken.url], broken.url)
  const cutOff = replicas.at(-1)?.contacts
  await eventually(() => cutOff?.isCutOff === true)
  const before = simulator.seen.length
  const rounds = await passRounds()
  const probes = simulator.seen.length - before
  t.ok(probes >= ROUNDS / 2 && probes <= rounds + 3, `${probes} calls in ${rounds} rounds`)
})

t.test('all replicas find out when a failed node answers again', async (t) => {
  const { simulator, url } = await startMaster(t)
  const replicas = await startReplicas(t, [url, url, url], 'http://127.0.0.1:1')
  await eventually(() => replicas.every(({ contacts }) => contacts.report().failing.length > 0))
  const worker = await simulator.join()
  for (const { cluster } of replicas) {
    cluster.prepare({
      nodes: [
        { name: 'master', type: 'master', url },
        { name: 'worker-1', type: 'worker', url: worker.url },
      ],
    })()
  }
  await eventually(() => replicas.every(({ contacts }) => contacts.report().failing.length === 0))
})

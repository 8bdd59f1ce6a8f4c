import t, { type Test } from 'tap'
import { freePort } from '../../../../packages/simulator/src/free-port.ts'
import { eventually } from '../../../support/eventually.ts'
import { startCluster, startRedis } from '../../../support/redis.ts'
import { describeStore, epochsOf, fill, served } from './contract.ts'
import { startWorld } from './links.ts'
import { empty, replica, steady } from './replicas.ts'

const cluster = await startCluster(3)
t.teardown(() => cluster.close())
const redis = { cluster: cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })) }
const clients = cluster.nodes.map((node) => node.client())

async function two(t: Test) {
  await empty(...clients)
  const [one, other] = await Promise.all([replica(t, redis, { times: steady }), replica(t, redis, { times: steady })])
  // On a busy machine, the slots of a cluster may be known only after the start.
  await eventually(() => one.store.state().up && other.store.state().up)
  return { one: one.store, other: other.store }
}

t.test('the store contract on three masters', async (t) => describeStore(t, two))

t.test('entries are distributed over the masters, epochs are on one', async (t) => {
  const { one } = await two(t)
  for (let at = 0; at < 30; at += 1) await fill(one, 'text', { key: `k${at}` })
  const sizes = await Promise.all(clients.map((client) => client.dbsize()))
  t.ok(
    sizes.every((size) => size > 2),
    `${sizes}`,
  )
  const coherent = await Promise.all(clients.map((client) => client.exists('edge:{e}').catch(() => 0)))
  t.equal(coherent.filter((found) => found === 1).length, 1)
})

t.test('moving a slot keeps its entries; moving the slot of the epochs makes everything a miss', async (t) => {
  const { one, other } = await two(t)
  await fill(one, 'stored')
  const slot = async (key: string) => Number(await clients[0]?.cluster('KEYSLOT', key))
  const owner = async (key: string) => {
    const found = await Promise.all(clients.map((client) => client.exists(key).catch(() => 0)))
    return found.indexOf(1)
  }
  const from = await owner('edge:c:2:k')
  await cluster.moveSlot(await slot('edge:c:2:k'), (from + 1) % 3)
  t.equal(await owner('edge:c:2:k'), (from + 1) % 3)
  const late = await replica(t, redis, { localBytes: () => 0 })
  for (const store of [one, other, late.store]) t.equal(await served(store), 'stored')
  const before = await epochsOf(one)
  await cluster.moveSlot(await slot('edge:{e}'), ((await owner('edge:{e}')) + 1) % 3)
  for (const store of [one, other]) await eventually(async () => (await served(store)) === 'miss')
  t.not((await epochsOf(one)).generation, before.generation)
  await fill(other, 'again')
  t.equal(await served(one), 'again')
  await (await one.fence(['agent:001'])).lift([])
  t.equal(await served(other), 'miss')
})

t.test('under writes, a fail-over of the master of the epochs gives no stale read', async (t) => {
  await empty(...clients)
  const { writer, reader, readMeanwhile, stale, recovered } = await startWorld(t, redis)
  const owners = await Promise.all(clients.map((client) => client.exists('edge:{e}').catch(() => 0)))
  const master = clients[owners.indexOf(1)]
  const bus = await freePort()
  const node = await startRedis({ args: ['--cluster-enabled', 'yes', '--cluster-port', `${bus}`] })
  t.teardown(() => node.close())
  const promoted = node.client()
  await master?.call('CLUSTER', 'MEET', '127.0.0.1', `${node.port}`, `${bus}`)
  const id = String(await master?.call('CLUSTER', 'MYID'))
  await eventually(async () => (await promoted.call('CLUSTER', 'REPLICATE', id).catch(() => '')) === 'OK')
  await eventually(async () => /master_link_status:up/.test(await promoted.info('replication')))
  await readMeanwhile(async () => {
    t.equal(await writer.write(), 'done')
    await reader.read()
    await writer.write(async () => void (await promoted.call('CLUSTER', 'FAILOVER', 'TAKEOVER')))
    await eventually(async () => (await writer.write()) === 'done')
    await recovered()
  })
  t.strictSame(stale, [])
  t.match(await promoted.info('replication'), /role:master/)
})

t.test('lookups of a killed master are misses, not errors', async (t) => {
  const { one } = await two(t)
  const keys = Array.from({ length: 12 }, (_, at) => `k${at}`)
  for (const key of keys) await fill(one, 'text', { key })
  const coherent = await Promise.all(clients.map((client) => client.exists('edge:{e}').catch(() => 0)))
  const victim = cluster.nodes[(coherent.indexOf(1) + 1) % 3]
  await victim?.kill()
  const { store } = await replica(t, redis, { localBytes: () => 0 })
  for (const key of keys) t.ok(['text', 'miss', 'unavailable'].includes(await served(store, key)))
})

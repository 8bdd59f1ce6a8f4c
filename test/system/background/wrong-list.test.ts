import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { edgeOf } from './replicas.ts'

const master = { name: 'master', type: 'master' }
const intruder = { name: 'intruder', type: 'worker' }
const rates = { perSecond: 0, callsPerSecond: 0, savedPerSecond: 0, failuresPerSecond: 0 }

const wrong: Readonly<Record<string, unknown>> = {
  'no list': 7,
  'no nodes': { ago: 0 },
  'no age': { nodes: [master, intruder] },
  'an age in the future': { ago: -60_000, nodes: [master, intruder] },
  'an old list': { ago: 3_600_000, nodes: [master, intruder] },
  'an empty list': { ago: 0, nodes: [] },
  'no master': { ago: 0, nodes: [intruder] },
  'two masters': { ago: 0, nodes: [master, { ...intruder, type: 'master' }] },
  'a name twice': { ago: 0, nodes: [master, intruder, intruder] },
  'a name that no node can have': { ago: 0, nodes: [master, intruder, { name: '../x', type: 'worker' }] },
  'a type that no node can have': { ago: 0, nodes: [master, { ...intruder, type: 'god' }] },
  'too many nodes': {
    ago: 0,
    nodes: [master, intruder, ...Array.from({ length: 1000 }, (_, at) => ({ name: `n${at}`, type: 'worker' }))],
  },
}

t.test('a wrong list of nodes in Redis is refused', async (t) => {
  const { start, redis } = await edgeOf(t)
  const { cluster } = await start()
  const client = redis.client()
  t.teardown(() => client.disconnect())
  const publish = async (nodeList: unknown) => {
    const report = { name: 'evil', version: '1', ready: true, rates, nodes: [], nodeList }
    await client.hset('edge:{o}:lines', 'evil', JSON.stringify(report))
    await client.zadd('edge:{o}:told', Date.now(), 'evil')
  }
  const knows = () => cluster.view.nodes().some(({ name }) => name === intruder.name)
  for (const [what, list] of Object.entries(wrong)) {
    await publish(list)
    // Several exchanges of reports.
    await wait(200)
    t.notOk(knows(), what)
  }
  await publish({ ago: 0, nodes: [master, intruder] })
  await eventually(knows)
  t.notOk(cluster.view.find(intruder.name)?.addressed, 'a list never has addresses')
})

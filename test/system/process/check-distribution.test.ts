/** `check --connect` compares `cluster.distribution` with what each node does. */
import t from 'tap'
import { configFolder } from './config.ts'
import { result } from './program.ts'

t.test('check finds nodes that distribute requests although the edge does, and nodes that do not', async (t) => {
  const { file, createKey, write, simulator } = await configFolder(t)
  await createKey()
  const nodes = simulator.world.nodes
  const check = () => result(t, ['check', '--config', file, '--connect'])

  write({ distribution: 'edge' })
  const both = await check()
  t.equal(both.code, 1)
  for (const { name } of nodes) t.match(both.out, `${name}: failed: it distributes requests itself`)
  t.match(both.out, /cluster\.distribution is edge; set cluster\.distribution to manager, or disable distributed_api/)
  t.match(both.err, '2 of 2 nodes cannot be used')

  for (const node of nodes) node.distributes = false
  const edge = await check()
  t.equal(edge.code, 0, edge.out)
  t.match(edge.out, /master: ok \(status 200\).*\nworker-1: ok \(status 200\).*\nok\n$/)

  write({ distribution: 'manager' })
  const neither = await check()
  t.equal(neither.code, 1)
  for (const { name } of nodes) t.match(neither.out, `${name}: failed: it does not distribute requests`)
  t.match(neither.out, /cluster\.distribution is manager; set cluster\.distribution to edge, or enable distributed_api/)
})

t.test('check accepts one node that could distribute, as the edge does', async (t) => {
  const { file, createKey, write, simulator } = await configFolder(t)
  await createKey()
  const [master] = simulator.nodes
  const nodes = [{ name: master?.name, type: 'master', url: master?.url }]
  for (const [discover, code] of [
    [false, 0],
    [true, 1],
  ] as const) {
    write({ distribution: 'edge', nodes, discover })
    const { out, code: ended } = await result(t, ['check', '--config', file, '--connect'])
    t.equal(ended, code, `discover: ${discover}\n${out}`)
  }
})

t.test('check does not judge the distribution of a node that is not ready', async (t) => {
  const { file, createKey, write, simulator } = await configFolder(t)
  await createKey()
  for (const node of simulator.world.nodes) node.distributes = false
  for (const [distribution, error] of [
    ['manager', 1017],
    ['manager', 1000],
    ['edge', 3012],
  ] as const) {
    write({ distribution })
    await simulator.faults.set('worker-1', { error })
    const { out } = await result(t, ['check', '--config', file, '--connect'])
    t.match(out, /^worker-1: ok/m, `${distribution} ${error}`)
  }
})

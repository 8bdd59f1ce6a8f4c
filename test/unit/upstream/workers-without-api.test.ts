/** Release 5.0 has an API on the master only: addresses of workers that are left in the settings are no failures, and get no calls. */
import t, { type Test } from 'tap'
import { eventually } from '../../support/eventually.ts'
import { type ClusterTestOptions, clusterOf, fakeNode } from './fake-node.ts'
import { ofRelease5 } from './release-5-node.ts'
import { rows } from './v4-node.ts'

const TIMES = { interval: 20, slowInterval: 50, timeout: 1_000, idleInterval: 200 }

interface StartOptions {
  /** Whether the edge reads the list of the master. */
  readonly isListed: boolean
  /** Whether the worker answers at first. */
  readonly isUp?: boolean
}

async function start(t: Test, { isListed, isUp = false, ...options }: ClusterTestOptions & StartOptions) {
  let release = '5.0.0'
  const master = await fakeNode(
    t,
    ofRelease5(rows([]), () => release),
  )
  const worker = await fakeNode(t)
  if (!isUp) worker.stop()
  const logged: unknown[] = []
  const cluster = clusterOf(t, '', {
    layout: 'v4',
    discover: isListed,
    nodes: [
      { name: 'master', type: 'master', url: master.url },
      { name: 'w1', type: 'worker', url: worker.url },
    ],
    contactTimes: TIMES,
    log: (_level, message, fields) => logged.push([message, fields]),
    ...options,
  })
  await cluster.start()
  const find = () => cluster.view.find('w1')
  return { cluster, find, logged, master, worker, set: (next: string) => (release = next) }
}

const NOT_USED = ['addresses of workers without an API are not used', { nodes: ['w1'] }]

t.test('a worker that the master lists with release 5.0', async (t) => {
  const { cluster, find, logged } = await start(t, { isListed: true })
  t.equal(find()?.addressed, false)
  t.notOk(cluster.contacts.states().has('w1'))
  t.match(
    cluster.status().find(({ name }) => name === 'w1'),
    { addressed: false, lastFailure: undefined, ejectedFor: undefined },
  )
  t.equal(logged.filter((line) => JSON.stringify(line) === JSON.stringify(NOT_USED)).length, 1)
})

for (const layout of ['v4', 'auto'] as const) {
  t.test(`a worker that answers no more, without a list, layout ${layout}`, async (t) => {
    const { cluster, find } = await start(t, { isListed: false, layout })
    await eventually(async () => find()?.addressed === false)
    t.notOk(cluster.contacts.states().has('w1'))
    t.equal(cluster.status().find(({ name }) => name === 'w1')?.lastFailure, undefined)
  })
}

t.test('after a return to release 4.14, the worker is used again', async (t) => {
  const { cluster, find, set } = await start(t, { isListed: true })
  t.equal(find()?.addressed, false)
  set('4.14.7')
  await cluster.contacts.probe('master')
  t.equal(find()?.addressed, true)
})

t.test('a worker that takes the place of another one in the settings', async (t) => {
  const { cluster, find, master, worker } = await start(t, { isListed: false })
  await eventually(async () => find()?.addressed === false)
  cluster.prepare({
    nodes: [
      { name: 'master', type: 'master', url: master.url },
      { name: 'w2', type: 'worker', url: worker.url },
    ],
  })()
  await eventually(async () => cluster.view.find('w2')?.addressed === false)
  t.notOk(cluster.contacts.states().has('w2'))
})

t.test('a worker that answered and then answers no more, without a list', async (t) => {
  const { cluster, find, worker } = await start(t, { isListed: false, isUp: true })
  await eventually(() => cluster.contacts.states().has('w1'))
  t.equal(find()?.addressed, true)
  worker.stop()
  await eventually(async () => find()?.addressed === false)
})

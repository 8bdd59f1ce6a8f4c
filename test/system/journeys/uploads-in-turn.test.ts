import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'

/** Milliseconds that a node takes for a call. */
const SLOW = 150
/** Longer than any delay of a busy machine between two arrivals. */
const LONG = 4000

t.test('two uploads of one path at once through two replicas: one after the other, the last wins', async (t) => {
  const redis = await startRedis()
  const simulator = await startSimulator({ workers: 0, agents: 3, password: 'only-for-tests' })
  const settings = { cache: { redis: { url: redis.url } } }
  const replicas = await Promise.all([1, 2].map(() => startEdge({ nodes: simulator.nodes, settings })))
  t.teardown(async () => {
    await Promise.all(replicas.map((edge) => edge.close()))
    await simulator.close()
    await redis.close()
  })
  const arrived: { readonly at: number; readonly url: string; readonly seen: { readonly body: string } }[] = []
  const push = simulator.seen.push.bind(simulator.seen)
  simulator.seen.push = (...seen) => {
    for (const one of seen) if (one.method === 'POST') arrived.push({ at: performance.now(), url: one.url, seen: one })
    return push(...seen)
  }
  const upload = async (replica: number, path: string, text: string) => {
    const edge = replicas[replica]
    const answer = await fetch(`${edge?.url}/manager/files?path=${path}&overwrite=true`, {
      method: 'POST',
      headers: { authorization: edge?.authorization('admin') ?? '', 'content-type': 'application/xml' },
      body: `<group name="${text}"><rule id="100001" level="3"><description>${text}</description></rule></group>`,
    })
    return (await answer.json()) as { error: number }
  }
  // Both replicas use Redis when a response that one of them stored is a hit of the other.
  const read = async (edge: (typeof replicas)[number] | undefined) => {
    const headers = { authorization: edge?.authorization('admin') ?? '' }
    return (await fetch(`${edge?.url}/agents/001`, { headers })).headers.get('cache-status') ?? ''
  }
  await eventually(async () => {
    await read(replicas[0])
    return /; hit/.test(await read(replicas[1])) && /; hit/.test(await read(replicas[0]))
  })
  await simulator.faults.set('master', { delay: SLOW })
  const path = 'etc/rules/local_rules.xml'
  const answers = await Promise.all([0, 1, 0, 1].map((replica, at) => upload(replica, path, `upload-${at}`)))
  t.strictSame(
    answers.map(({ error }) => error),
    [0, 0, 0, 0],
  )
  t.equal(arrived.length, 4)
  const gaps = arrived.slice(1).map(({ at }, before) => at - (arrived[before]?.at ?? 0))
  t.ok(
    gaps.every((gap) => gap > SLOW * 0.9),
    `none began before the one before was answered: ${gaps.map(Math.round)} ms`,
  )
  const last = /upload-\d/.exec(arrived.at(-1)?.seen.body ?? '')?.[0]
  t.match(simulator.nodes.length && simulator.world.nodes[0]?.files.get(path), new RegExp(`${last}`), 'the last wins')
  arrived.length = 0
  await simulator.faults.set('master', { delay: LONG })
  let answered = 0
  const others = [upload(0, 'etc/rules/a.xml', 'a'), upload(1, 'etc/rules/b.xml', 'b')]
  for (const one of others) void one.then(() => (answered += 1))
  await eventually(() => arrived.length === 2)
  t.equal(answered, 0, 'uploads of other paths do not wait for each other')
  await Promise.all(others)
})

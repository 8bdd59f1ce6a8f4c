/** While a worker is lost, each request is answered at once, as by a master that knows of the loss. */
import t from 'tap'
import type { Simulator } from '../../../packages/simulator/src/index.ts'
import { FOUND_MS, HANG_MS, plain, requestsAbout, startClusters } from './lost-workers.ts'

const cases = [
  { mode: 'service', version: '4.5.4' },
  { mode: 'passthrough', version: '4.14.0' },
] as const

/** Both at once: each waits for calls that hang. */
t.jobs = cases.length
for (const { mode, version } of cases) {
  t.test(`${mode}, release ${version}`, { buffered: true }, async (t) => {
    const { cluster, oracle, worker, other, ask, askOracle, cutOff } = await startClusters(t, { mode, version })
    await cutOff()
    const first = await ask({ method: 'GET', path: '/syscollector/001/os' })
    t.match(first, { status: 400, body: { error: 3022 } }, 'the request that finds the loss')
    t.ok(first.ms < FOUND_MS, `${first.ms} ms`)
    const requests = requestsAbout(worker, other, Number(/^4\.(\d+)/.exec(version)?.[1]))
    t.ok(requests.length > 60, `${requests.length} requests`)
    for (const request of requests) {
      const { method, path, names } = request
      const before = cluster.seen.length
      const [got, wanted] = [await ask(request), await askOracle(request)]
      const name = `${method} ${path} (${names})`
      t.strictSame(plain(got), plain(wanted), name)
      t.ok(got.ms < HANG_MS, `${name}: ${got.ms} ms`)
      if (method === 'GET') continue
      const sent = cluster.seen.slice(before).filter((seen) => seen.method === method)
      t.ok(sent.length <= 1, `${name}: sent once`)
      for (const { url } of sent) t.notOk(concerns(decodeURIComponent(url), worker), `${name}: ${url}`)
    }
    t.strictSame(restartsOf(cluster), restartsOf(oracle), 'each agent got as many commands')
    t.ok(restartsOf(cluster)['003'])
  })
}

function restartsOf({ world }: Simulator): Readonly<Record<string, number>> {
  return Object.fromEntries([...world.agents.values()].map(({ id, restarts }) => [id, restarts]))
}

/** Whether a call certainly concerns the lost worker. */
function concerns(url: string, worker: string): boolean {
  return /\/00[12](?:\/|$)|agents_list=(?:[^&]*,)?(?:00[12]|all)\b/.test(url) || url.includes(worker)
}

import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { authorization, linesOf, pidsOf, sampleOf, send, stage, start } from './processes.ts'

const { simulator, file, write } = await stage(t)
const edge = await start(t, file)

/** Sends requests one after the other, each over a new connection, until `stop`. Resolves to the statuses and failures. */
function keepSending(url: string) {
  let isStopped = false
  const results: (number | string)[] = []
  const done = (async () => {
    while (!isStopped) {
      results.push(
        await send(url).then(
          ({ status }) => status,
          (error: NodeJS.ErrnoException) => error.code ?? error.message,
        ),
      )
      await wait(5)
    }
    return results
  })()
  const stop = () => {
    isStopped = true
    return done
  }
  return { stop }
}

const processesOf = (lines: readonly Record<string, unknown>[]) => new Set(lines.map((line) => line.process))
const scrape = async () => (await send(`${edge.operationsUrl}/metrics`)).body

t.test('two processes serve one port, and the port is ready when both listen', async (t) => {
  // A process buffers its lines for a tenth of a second.
  await eventually(() => processesOf(linesOf(edge, 'process listening')).size === 2)
  const ready = await send(`${edge.operationsUrl}/readyz`)
  t.equal(ready.status, 200, ready.body)
  for (let sent = 0; sent < 10; sent += 1) t.equal((await send(`${edge.url}/agents`)).status, 200)
  await eventually(() => linesOf(edge, 'request').length >= 10)
  t.strictSame(processesOf(linesOf(edge, 'request')), new Set([1, 2]), 'connections are spread')
  const replicas = linesOf(edge, 'process listening').map(({ replica }) => replica)
  t.strictSame(replicas.sort(), ['edge-1', 'edge-2'], 'each process has its own name')
})

t.test('after a write through one process, the other one serves no earlier response', async (t) => {
  const groups = `${edge.url}/agents/groups`
  for (const name of ['first', 'second', 'third']) {
    // Both processes have the response in their memory now.
    for (let sent = 0; sent < 6; sent += 1) t.notMatch((await send(groups)).body, `"${name}"`)
    t.equal((await send(`${groups}/${name}`, 'PUT')).status, 200)
    for (let sent = 0; sent < 6; sent += 1) t.match((await send(groups)).body, `"${name}"`, `${name}, read ${sent}`)
  }
})

t.test('a scrape through any process has the sum of all', async (t) => {
  const count = 'http_server_request_duration_seconds_count'
  const before = sampleOf(await scrape(), count, 'http_route="/rules"')
  for (let sent = 0; sent < 7; sent += 1) await send(`${edge.url}/rules?limit=1`)
  for (let scraped = 0; scraped < 3; scraped += 1) {
    const text = await scrape()
    t.equal(sampleOf(text, count, 'http_route="/rules"') - before, 7)
    t.equal(sampleOf(text, 'edge_processes', 'state="answered"'), 2)
    t.equal(sampleOf(text, 'edge_ready'), 1, 'a state is not added up')
    t.equal(sampleOf(text, 'edge_build_info'), 2, 'each process has its name')
  }
})

t.test('the console finds the details of a request in any process', async (t) => {
  const id = String((await fetch(`${edge.url}/agents`, { headers: { authorization } })).headers.get('x-request-id'))
  for (let opened = 0; opened < 4; opened += 1) {
    const { status, body } = await send(`${edge.operationsUrl}/api/requests/${id}`)
    t.equal(status, 200)
    t.equal(JSON.parse(body).request.id, id)
  }
  const unknown = await send(`${edge.operationsUrl}/api/requests/00000000-0000-4000-8000-000000000000`)
  t.match(unknown, { status: 404, body: /no record of the request/ })
})

t.test('a process that is killed is replaced while the other one serves', async (t) => {
  const count = 'http_server_request_duration_seconds_count'
  const before = sampleOf(await scrape(), count)
  const [first = 0, second = 0] = await pidsOf(edge)
  const clients = keepSending(`${edge.url}/agents`)
  process.kill(first, 'SIGKILL')
  await edge.until(/"msg":"process ended, another one starts"/)
  await eventually(async () => sampleOf(await scrape(), 'edge_processes', 'state="ready"') === 2)
  const results = await clients.stop()
  const failures = results.filter((result) => result !== 200)
  t.ok(results.length - failures.length > 5, `${results.length} requests`)
  t.ok(failures.length <= 1, `only the request in the killed process may fail: ${failures}`)
  const now = await pidsOf(edge)
  t.ok(now.includes(second) && !now.includes(first) && now.length === 2, 'the other process is the same one')
  const text = await scrape()
  t.equal(sampleOf(text, 'edge_process_restarts_total'), 1)
  t.ok(sampleOf(text, count) >= before, 'counters did not go back')
})

t.test('a changed setting that needs a restart replaces the processes one after the other', async (t) => {
  const before = await pidsOf(edge)
  const clients = keepSending(`${edge.url}/agents`)
  const probes = keepSending(`${edge.operationsUrl}/readyz`)
  write({ replica: { name: 'renamed' } })
  edge.child.kill('SIGHUP')
  await edge.until(/"msg":"rolling restart complete"/)
  t.strictSame(new Set(await clients.stop()), new Set([200]), 'no request fails')
  t.strictSame(new Set(await probes.stop()), new Set([200]), 'the edge is ready all the time')
  const after = await pidsOf(edge)
  t.strictSame([after.length, after.some((pid) => before.includes(pid))], [2, false], 'both processes are new')
  // A process buffers its lines for a tenth of a second.
  const replicas = () => linesOf(edge, 'process listening').map(({ replica }) => replica)
  await eventually(() => replicas().includes('renamed-1') && replicas().includes('renamed-2'))
})

t.test('SIGTERM ends both processes after the requests under way, with exit code 0', async (t) => {
  const only = ({ url }: { readonly url: string }) => url.includes('/manager/')
  await simulator.faults.set('master', { delay: 1000, only })
  const paths = ['/manager/info', '/manager/status', '/manager/configuration', '/manager/logs/summary']
  const pending = paths.map((path) => send(edge.url + path))
  await eventually(() => simulator.seen.filter(only).length >= 4)
  const before = linesOf(edge, 'request').length
  edge.child.kill('SIGTERM')
  const answers = await Promise.all(pending)
  t.strictSame(
    answers.map(({ status }) => status),
    [200, 200, 200, 200],
  )
  const { code, err } = await edge.ended
  t.strictSame([code, err], [0, ''])
  t.strictSame(processesOf(linesOf(edge, 'request').slice(before)), new Set([1, 2]), 'both had requests under way')
  t.equal(linesOf(edge, 'ended').length, 1)
})

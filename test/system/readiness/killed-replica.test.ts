/** The shipped HAProxy configuration in front of two replicas, of which one is killed while requests are in flight. */
import t from 'tap'
import { Client } from 'undici'
import { headers, startEdgeProcess } from '../../faults/suite/edge-process.ts'
import { startHaproxy } from '../../faults/suite/haproxy.ts'
import { type Call, send } from '../../faults/suite/load.ts'
import { startNodeUpstream } from '../../faults/suite/upstream.ts'
import { eventually } from '../../support/eventually.ts'

/** A third of them write. Enough for one that writes through the replica that is killed, whatever the balancer does. */
const CLIENTS = 36
/** Longer than all calls take to arrive on a busy machine. */
const CALL_MS = 3000
const settings = { cluster: { limits: { inFlight: 64, queue: 1000 } } }

t.test('reads in flight are answered by the other replica, and no write is sent twice', async (t) => {
  const upstream = await startNodeUpstream()
  t.teardown(() => upstream.close())
  const { nodes } = upstream
  const replicas = [await startEdgeProcess({ nodes, settings }), await startEdgeProcess({ nodes, settings })] as const
  for (const replica of replicas) t.teardown(() => replica.close())
  const balancer = await startHaproxy(replicas)
  t.teardown(() => balancer.close())
  const callOf = (at: number, name: string): Call => ({
    origin: balancer.url,
    path: at % 3 === 2 ? `/agents/9${name}/group/web` : `/agents/9${name}/key`,
    method: at % 3 === 2 ? 'PUT' : 'GET',
    headers,
  })
  // HAProxy answers 502 if the first request of a connection is lost, and closes the connection without a response later.
  const clients = Array.from({ length: CLIENTS }, () => new Client(balancer.url))
  for (const client of clients) t.teardown(() => client.destroy())
  const warmed = clients.slice(CLIENTS / 2).map((client, at) => send(callOf(0, `8${at}`), client))
  for (const { failure } of await Promise.all(warmed)) t.equal(failure, undefined)

  upstream.behave({ delay: 0, steady: CALL_MS, heedsBypass: true })
  await upstream.report()
  const sent = clients.map((client, at) => send(callOf(at, String(at).padStart(2, '0')), client))
  const received: Record<string, number> = {}
  const report = async () => {
    for (const [path, times] of Object.entries((await upstream.report()).byPath))
      if (/key|group/.test(path)) received[path] = (received[path] ?? 0) + times
    return Object.keys(received).length
  }
  await eventually(async () => (await report()) === CLIENTS)
  await replicas[0].kill()
  const answers = await Promise.all(sent)
  await report()
  const reads = answers.filter(({ path }) => path.endsWith('/key'))
  t.strictSame(
    reads.flatMap(({ failure }) => failure ?? []),
    [],
    `failures of ${reads.length} reads`,
  )
  const writes = answers.filter(({ path }) => path.endsWith('/web'))
  t.ok(
    writes.some(({ failure }) => failure !== undefined),
    'writes were in flight at the killed replica',
  )
  for (const { path } of writes) t.equal(received[`PUT ${path}`], 1, path)
  t.ok(
    Object.values(received).some((times) => times > 1),
    'reads were repeated',
  )
})

/** A drain with a reason and an end: it ends on all replicas, also after a restart, and is recorded once. */
import t from 'tap'
import type { RunningEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { result } from '../process/program.ts'
import { drainRecords, startReplicas, stateOf } from './replicas.ts'

async function get(edge: RunningEdge, path: string) {
  const response = await fetch(edge.operationsUrl + path, { headers: { authorization: edge.authorization('admin') } })
  return response.text()
}

t.test('a drain has a reason and ends by itself on all replicas', async (t) => {
  const { here, there, redis, start } = await startReplicas(t)
  const run = (args: readonly string[], edge: RunningEdge = here) =>
    result(t, [...args, '--operations', edge.operationsUrl, '--user', 'admin'], { input: 'admin-pw\n' })

  await t.test('the expected load of the others is shown before', async (t) => {
    const preview = await run(['drain', 'worker-1', '--dry-run', '--json'])
    t.equal(preview.code, 0, preview.err)
    t.match(JSON.parse(preview.out), { node: 'worker-1', expected: [{ node: 'master' }, { node: 'worker-2' }] })
    t.equal(await stateOf(here, 'worker-1'), 'up')
  })

  await t.test('drain with a reason and an end, and wait until no call is in flight', async (t) => {
    const drained = await run(['drain', 'worker-1', '--for', '40s', '--reason', 'OPS-123', '--wait', '--json'])
    t.equal(drained.code, 0, drained.err)
    t.match(JSON.parse(drained.out), { node: 'worker-1', drained: true, reason: 'OPS-123', inFlight: 0 })
    await eventually(async () => (await stateOf(there, 'worker-1')) === 'drained')
    const { nodes } = JSON.parse(await get(there, '/api/nodes'))
    const { drain } = nodes.find(({ name }: { name: string }) => name === 'worker-1')
    t.match(drain, { by: 'admin', reason: 'OPS-123' })
    t.ok(drain.endsIn > 0 && drain.endsIn <= 40_000, String(drain.endsIn))
    const [problem] = JSON.parse(await get(there, '/api/problems')).problems
    t.equal(problem.summary, 'Drained for maintenance: worker-1 (OPS-123, with an end)')
    t.match(await get(here, '/metrics'), /edge_node_drained_without_end_seconds\{node="worker-1"[^}]*\} 0$/m)
  })

  await t.test('a replica that starts later knows the end, and all put the node back', async (t) => {
    const shorter = await run(['drain', 'worker-1', '--for', '3s', '--reason', 'OPS-124'])
    t.match(shorter.out, /^worker-1 is drained until 20\S+Z, OPS-124 \(all replicas\)$/m, shorter.err)
    const third = await start()
    for (const edge of [here, there, third]) await eventually(async () => (await stateOf(edge, 'worker-1')) === 'up')
    await eventually(async () => !/worker-1/.test((await redis.client().get('edge:{a}:drains')) ?? ''))
    const records = () => [here, there, third].flatMap(drainRecords)
    await eventually(() => records().filter(({ query }) => (query as { end?: string })?.end === 'reached').length === 2)
    t.match(
      drainRecords(here).find(({ method }) => method === 'PUT'),
      {
        caller: 'admin',
        params: { node: 'worker-1' },
        query: { for: '40s', reason: 'OPS-123' },
      },
    )
    const marks = async (): Promise<readonly string[]> => {
      const { events } = JSON.parse(await get(here, '/api/history?range=5m'))
      return events.map(({ kind, text }: { kind: string; text?: string }) => `${kind} ${text}`)
    }
    for (const mark of ['drain worker-1: OPS-123', 'drain worker-1: OPS-124', 'return worker-1'])
      await eventually(async () => (await marks()).includes(mark))
  })

  await t.test('it ends while Redis is down, and is removed from Redis afterwards', async () => {
    await run(['drain', 'worker-2', '--for', '6s'])
    await eventually(async () => (await stateOf(there, 'worker-2')) === 'drained')
    await redis.kill()
    for (const edge of [here, there]) await eventually(async () => (await stateOf(edge, 'worker-2')) === 'up')
    await redis.restart()
    await eventually(async () => /"drains":\[\]/.test((await redis.client().get('edge:{a}:drains')) ?? ''))
  })

  await t.test('mistakes get a clear sentence', async (t) => {
    const rows: [readonly string[], number, RegExp][] = [
      [['drain', 'worker-9'], 1, /no node worker-9; it has master, worker-1, worker-2/],
      [
        ['drain', 'worker-1', '--for', 'soon'],
        2,
        /--for soon is not a duration such as .*; write for example --for 30m/,
      ],
      [['drain', 'worker-1', '--for', '5ms'], 1, /for must be a duration .*at least 1s/],
      [['drain', 'master'], 1, /master is the master, without which writes fail; give --confirm-master/],
      [['undrain', 'worker-9'], 1, /no node with this name/],
    ]
    for (const [args, code, says] of rows) {
      const ended = await run(args)
      t.equal(ended.code, code, args.join(' '))
      t.match(ended.err, says)
    }
    const undrained = await run(['undrain', 'worker-1'])
    t.strictSame([undrained.code, undrained.out], [0, 'worker-1 gets calls again (all replicas)\n'])
  })
})

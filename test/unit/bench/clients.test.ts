/** The checks of bench:clients: an answer that is wrong, or too old, must not count as a success. */
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import { Connections, type Received } from '../../bench/clients/connections.ts'
import { printGoals } from '../../bench/clients/report.ts'
import type { Row } from '../../bench/clients/rows.ts'
import { sessions } from '../../bench/clients/session.ts'
import { emptyTaken, record, type Taken } from '../../bench/clients/taken.ts'

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Length: 12\r\nAge: 3\r\nCache-Status: manager-edge; hit; ttl=1'
const right: Received = { status: 200, head: HEAD, length: 12, beginning: '{"error":0,}', ending: '{"error":0,}' }
const expected = { success: sessions.v3.success, throughEdge: true }

function takenOf(...answers: readonly Received[]): Taken {
  const taken = emptyTaken(1)
  for (const answer of answers) record(taken, 0, 1, answer, expected)
  return taken
}

t.test('each kind of wrong answer is an error', async (t) => {
  t.strictSame([...takenOf(right).errors], [])
  t.strictSame([...takenOf(right).sources], [['hit', 1]])
  t.equal(takenOf(right).gets[0]?.oldest, 3)
  const wrong: readonly [Partial<Received>, string][] = [
    [{ status: 429, ending: '"error":6001}' }, 'status 429 "error":6001'],
    [{ length: 0 }, 'empty'],
    [{ beginning: '{"error":1017,"me' }, '{"error":1017'],
    [{ ending: '{"error":0,' }, 'other end: {"error":0,'],
    [{ head: 'HTTP/1.1 200 OK\r\nAge: 3' }, 'no Cache-Status'],
    [{ head: 'HTTP/1.1 200 OK\r\nCache-Status: manager-edge; hit' }, 'no Age'],
    [{ fault: 'timeout' }, 'timeout'],
  ]
  for (const [change, error] of wrong) {
    const taken = takenOf(right, { ...right, ...change })
    t.strictSame([...taken.errors], [[error, 1]])
    t.equal(taken.sources.size, 1, 'a wrong answer has no source')
  }
})

t.test('the source of an answer is that of its Cache-Status', async (t) => {
  const sources = ['hit; ttl=-1; detail=stale-while-revalidate', 'fwd=stale; collapsed; ttl=1', 'fwd=uri-miss; stored']
  const answers = sources.map((text) => ({ ...right, head: HEAD.replace('hit; ttl=1', text) }))
  t.strictSame([...takenOf(...answers).sources.keys()], ['stale-while-revalidate', 'collapsed', 'miss'])
})

/** Returns what a client receives from a server that writes this text. */
async function receive(t: Test, response: string): Promise<Received> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => socket.end(response))
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const pool = new Connections({ url: `http://127.0.0.1:${port}`, headers: '', keepAlive: true, timeoutMs: 10_000 })
  t.teardown(() => {
    pool.close()
    server.close()
  })
  return new Promise((resolve) => pool.get('/', resolve))
}

t.test('an answer that is not complete, or longer than it says, is an error', async (t) => {
  t.match(await receive(t, `${HEAD}\r\n\r\n{"error":0,}`), { ...right, fault: undefined })
  t.match(await receive(t, `${HEAD}\r\n\r\n{"error":0,`), { fault: 'connection closed' })
  t.match(await receive(t, `${HEAD}\r\n\r\n{"error":0,}!`), { fault: 'more bytes than Content-Length' })
  t.match(await receive(t, 'HTTP/1.1 200 OK\r\n\r\n{"error":0,}'), { fault: 'no Content-Length' })
})

t.test('a row that misses one goal fails the command', async (t) => {
  const ages = [{ target: '/x', group: 'x', fetchSeconds: 1, oldest: 3, bound: 3.5 }]
  const nodes = [{ name: 'master', callsPerSecond: 4, most: 4, minute: 300, refused: 0 }]
  const row: Row = {
    session: sessions.v3,
    calls: [],
    way: 'edge',
    clients: 1_000,
    seconds: 1,
    warmUp: 1,
    cluster: {},
    echo: '',
    spent: 1,
    taken: takenOf(right),
    warm: takenOf(right),
    own: { echo: [1], late: [1] },
    nodes,
    cpu: { generator: 0, replicas: 0, cluster: 0, redis: 0, machine: 0 },
    ages,
  }
  const reaches = (change: Partial<Row>) => printGoals([row, { ...row, ...change }], () => undefined)
  t.ok(reaches({}))
  t.notOk(reaches({ taken: { ...row.taken, times: [6] } }), 'median')
  t.notOk(reaches({ taken: { ...row.taken, times: [...Array(90).fill(1), ...Array(10).fill(101)] } }), 'p95')
  t.notOk(reaches({ taken: takenOf(right, { ...right, status: 429 }) }), 'errors')
  t.notOk(reaches({ taken: emptyTaken(1) }), 'no answer at all')
  t.notOk(
    reaches({ nodes: [...nodes, { name: 'worker-1', callsPerSecond: 1, most: 5, minute: 60, refused: 0 }] }),
    'calls in flight',
  )
  t.notOk(reaches({ ages: [{ target: '/x', group: 'x', fetchSeconds: 1, oldest: 4, bound: 3.5 }] }), 'ages')
  const cluster = { layout: 'v4', v4: { requestsPerMinute: 300 } } as const
  t.ok(reaches({ cluster }), 'exactly the limit per minute')
  t.notOk(reaches({ cluster, nodes: nodes.map((node) => ({ ...node, minute: 301 })) }), 'calls per minute')
  t.notOk(reaches({ cluster, nodes: nodes.map((node) => ({ ...node, refused: 1 })) }), 'a refused call')
  t.ok(reaches({ clients: 999, taken: { ...row.taken, times: [6] } }), 'fewer clients have no goal for the latency')
  t.ok(reaches({ way: 'direct', taken: { ...row.taken, times: [6000] } }), 'a row without the edge has no goals')
})

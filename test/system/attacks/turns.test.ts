import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { startEdge } from '../../support/edge.ts'
import { measureTurns } from '../../support/event-loop.ts'

/** CPU milliseconds: the bound of src/core/turns.ts. */
const MAX_TURN_MS = 20

/**
 * Sends the same request on many connections at once from another thread, whose time does not count. Reports what differs
 * among the status lines, and the shortest length of a response.
 */
const client = `
  const { connect } = require('node:net')
  const { parentPort, workerData: written } = require('node:worker_threads')
  const responseOf = (socket, head) => new Promise((resolve, reject) => {
    let [length, start, expected] = [0, '', Infinity]
    const onData = (chunk) => {
      length += chunk.length
      if (expected === Infinity) {
        start += chunk.toString('latin1')
        const end = start.indexOf('\\r\\n\\r\\n')
        if (end < 0) return
        // The stream of requests has no length and no end: its head is the response.
        expected = end + 4 + Number(/content-length: (\\d+)/i.exec(start.slice(0, end))?.[1] ?? 0)
      }
      if (length < expected) return
      socket.off('data', onData)
      resolve([start.slice(0, start.indexOf('\\r\\n')), length])
    }
    socket.on('data', onData).once('error', reject)
    socket.write(head)
  })
  let [sockets, head] = [[], '']
  parentPort.on('message', async (message) => {
    if (message === 'send') {
      const sent = sockets.map((socket) => responseOf(socket, head))
      // Sockets write at once.
      Atomics.store(written, 0, 1)
      Atomics.notify(written, 0)
      const responses = await Promise.all(sent)
      const lengths = responses.map(([, length]) => length)
      parentPort.postMessage({ lines: [...new Set(responses.map(([line]) => line))], shortest: Math.min(...lengths) })
      return
    }
    const { port, path, authorization, count } = message
    head = 'GET ' + path + ' HTTP/1.1\\r\\nHost: edge\\r\\nAuthorization: ' + authorization + '\\r\\n\\r\\n'
    for (const socket of sockets) socket.destroy()
    sockets = await Promise.all(Array.from({ length: count }, () => new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(socket)).once('error', reject)
    })))
    parentPort.postMessage('connected')
  })
`

const OPERATIONS_PATHS = [
  ...['/livez', '/readyz?verbose', '/api/capacity', '/api/costs', '/api/entries', '/api/groups'],
  ...['/api/history', '/api/me', '/api/nodes', '/api/now', '/api/problems', '/api/requests'],
]

interface Burst {
  readonly url: string
  readonly path: string
  readonly count: number
}

async function runningEdge(t: Test) {
  const simulator = await startSimulator()
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    password: 'simulated',
    settings: {
      cache: { ttl: { agents: '10m', rules: '10m' } },
      access: { limits: { requestsPerSecond: 1e6, failedLogins: 1e6 } },
    },
  })
  t.teardown(() => edge.close())
  const written = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(client, { eval: true, workerData: written })
  t.teardown(() => worker.terminate())
  const authorization = edge.authorization('admin')
  /** Returns the longest turn in which the edge answers all of these. */
  const longestTurnOf = async ({ url, path, count }: Burst) => {
    let shortest = 0
    const connect = async () => {
      const connected = once(worker, 'message')
      worker.postMessage({ port: Number(new URL(url).port), path, authorization, count })
      await connected
    }
    const burst = async () => {
      const ended = once(worker, 'message')
      written[0] = 0
      worker.postMessage('send')
      // The edge finds all of them at once.
      t.not(Atomics.wait(written, 0, 0, 30_000), 'timed-out')
      const [answered] = (await ended) as [{ readonly lines: readonly string[]; readonly shortest: number }]
      if (answered.lines.join() !== 'HTTP/1.1 200 OK') t.fail(`${count} × ${path}: ${answered.lines}`)
      shortest = answered.shortest
    }
    let longest = Number.POSITIVE_INFINITY
    for (let run = 0; run < 10 && longest >= MAX_TURN_MS; run += 1) {
      await connect()
      longest = Math.min(longest, await measureTurns(burst))
    }
    return { longest, shortest }
  }
  return { edge, authorization, longestTurnOf }
}

t.test('no burst of requests holds the event loop', async (t) => {
  const { edge, longestTurnOf } = await runningEdge(t)
  const bursts = [
    { url: edge.url, path: '/agents/001', count: 1000, least: 200 },
    { url: edge.url, path: '/rules?limit=500&pretty=true', count: 300, least: 100_000 },
    { url: edge.url, path: '/rules?limit=500', count: 300, least: 100_000 },
    { url: edge.url, path: '/cache?details=true', count: 100, least: 200 },
    ...OPERATIONS_PATHS.map((path) => ({ url: edge.operationsUrl, path, count: 100, least: 100 })),
  ]
  for (const { least, ...burst } of bursts) {
    await longestTurnOf({ ...burst, count: 1 })
    const { longest, shortest } = await longestTurnOf(burst)
    t.ok(longest < MAX_TURN_MS, `${burst.count} × ${burst.path}: ${longest.toFixed(1)} ms in the longest turn`)
    t.ok(shortest > least, `each is complete: ${shortest} bytes`)
  }
})

t.test('metrics of all routes are written in pieces', async (t) => {
  const { edge, authorization, longestTurnOf } = await runningEdge(t)
  const send = async (method: string, url: string, headers: Record<string, string>) => {
    await (await fetch(edge.url + url, { method, headers })).arrayBuffer()
  }
  await Promise.all(
    catalogue.map(async ({ method, path }) => {
      const url = path.replace(/:\w+/g, '001')
      await send(method, url, {})
      await send(method, `${url}?unknown=1`, { authorization })
      if (method !== 'GET') return
      await send('GET', url, { authorization })
      await send('HEAD', `${url}?unknown=1`, { authorization })
    }),
  )
  const { longest, shortest } = await longestTurnOf({ url: edge.operationsUrl, path: '/metrics', count: 1 })
  t.ok(longest < MAX_TURN_MS, `${longest.toFixed(1)} ms in the longest turn`)
  t.ok(shortest > 500_000, `${shortest} bytes`)
  const text = await (await fetch(`${edge.operationsUrl}/metrics`, { headers: { authorization } })).text()
  const described = text.split('\n').filter((line) => line.startsWith('# TYPE '))
  t.equal(new Set(described).size, described.length, 'each metric is described once')
})

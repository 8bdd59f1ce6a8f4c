import { createServer } from 'node:http'
import t, { type Test } from 'tap'
import { buildConnector, Client, type Dispatcher } from 'undici'
import { connectInTurns } from '../../../src/upstream/connector.ts'
import { listen } from './fake-node.ts'

const MIB = 1024 * 1024
const NODES = 8
const body = Buffer.alloc(4 * MIB, 'row ')

t.test('many responses at once are read in turns, completely', async (t) => {
  const server = createServer((_request, response) => response.end(body))
  const { port } = await listen(t, server)
  const turns: number[] = [0]
  const count = (bytes: number) => {
    turns[turns.length - 1] = (turns.at(-1) ?? 0) + bytes
  }
  let isDone = false
  const countTurn = () => {
    turns.push(0)
    if (!isDone) setImmediate(countTurn)
  }
  setImmediate(countTurn)
  const bodies = await Promise.all(Array.from({ length: NODES }, () => receive(t, port, count)))
  isDone = true
  for (const received of bodies) t.ok(received.equals(body))
  t.ok(Math.max(...turns) < 5 * MIB, 'two limits and a chunk, because turns are counted with another beginning')
})

t.test('a connection that is lost while its data waits for a turn fails its response only', async (t) => {
  const server = createServer(({ url }, response) => {
    if (url === '/lost') response.writeHead(200, { 'content-length': body.length }).write(body.subarray(0, MIB))
    else response.end(body)
    if (url === '/lost') setTimeout(() => response.destroy(), 5)
  })
  const { port } = await listen(t, server)
  const paths = ['/', '/lost', '/', '/lost', '/']
  const received = await Promise.allSettled(paths.map((path) => receive(t, port, () => undefined, path)))
  t.same(
    received.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
  )
})

t.test('a refused connection is an error', async (t) => {
  const server = createServer()
  const { port } = await listen(t, server)
  await new Promise((resolve) => server.close(resolve))
  await t.rejects(
    receive(t, port, () => undefined),
    { code: 'ECONNREFUSED' },
  )
})

function receive(
  t: Pick<Test, 'teardown'>,
  port: number,
  onBytes: (bytes: number) => void,
  path = '/',
): Promise<Buffer> {
  const client = new Client(`http://127.0.0.1:${port}`, { connect: connectInTurns(buildConnector({})) })
  t.teardown(() => client.destroy())
  const chunks: Buffer[] = []
  return new Promise((resolve, reject) => {
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart() {},
      onResponseData(_controller, chunk) {
        onBytes(chunk.length)
        chunks.push(chunk)
      },
      onResponseEnd: () => resolve(Buffer.concat(chunks)),
      onResponseError: (_controller, error) => reject(error),
    }
    client.dispatch({ path, method: 'GET' }, handler)
  })
}

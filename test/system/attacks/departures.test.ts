import { once } from 'node:events'
import { connect } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { sendRaw } from '../../support/raw.ts'
import { type Stage, stage } from './rows.ts'

/** Sends the bytes and disconnects without reading the response. */
function sendAndLeave(at: Stage, bytes: string, after: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(at.edge.url).port) }, () => {
      socket.write(bytes, () => void after.then(() => socket.resetAndDestroy()))
    })
    socket.resume()
    socket.on('error', () => undefined)
    socket.on('close', () => resolve())
  })
}

const abandoned = (at: Stage) =>
  at.edge.logged.map((line) => JSON.parse(line)).filter(({ msg }) => /^request not answered/.test(msg))

t.test('clients that disconnect', async (t) => {
  const at = await stage()
  t.teardown(() => at.close())
  const head = (line: string, more = '') =>
    `${line} HTTP/1.1\r\nHost: edge\r\nAuthorization: ${at.edge.authorization('admin')}\r\n${more}\r\n`

  await t.test('a write whose client has disconnected is logged', async (t) => {
    await at.simulator.faults.set('master', { stall: true })
    const before = at.reached()
    const there = eventually(() => at.reached() > before)
    await sendAndLeave(at, head('PUT /agents/001/restart'), there)
    await eventually(() => abandoned(at).length > 0)
    t.match(abandoned(at), [
      { method: 'PUT', route: '/agents/:agent_id/restart', caller: 'admin', client: '127.0.0.1', reqId: String },
    ])
    t.equal(abandoned(at)[0]?.status, undefined, 'no status was sent')
    t.notMatch(at.edge.logged.join(''), '"code":949')
    await at.simulator.faults.clear()
  })

  await t.test('an upload whose client disconnects before it is complete is not forwarded', async (t) => {
    const before = at.reached()
    const text = `<a>${'&'.repeat(4 * 1024 * 1024)}</a>`
    const type = `Content-Type: application/xml\r\nContent-Length: ${text.length}\r\n`
    await sendAndLeave(at, head('POST /manager/files?path=etc/rules/left.xml', type) + text.slice(1), Promise.resolve())
    // Whether the edge reads the reset or an incomplete body first is open.
    await eventually(() => at.edge.logged.some((line) => line.includes('"route":"/manager/files"')))
    // Uploads of one path are carried out one after the other, so this one would come behind it.
    const small = '<group name="later"></group>'
    const later = await sendRaw(
      at.edge.url,
      `${head('POST /manager/files?path=etc/rules/left.xml', `Content-Type: application/xml\r\nContent-Length: ${small.length}\r\n`)}${small}`,
    )
    t.equal(later.status, 200, later.body)
    t.equal(at.reached(), before + 1, 'only the later upload reached a node')
  })

  await t.test(
    'a client that closes its side behind its request gets the response of a read and of a write',
    async (t) => {
      await at.simulator.faults.set('master', { delay: 50 })
      for (let nth = 0; nth < 10; nth += 1)
        for (const line of [`GET /rules?search=half${nth}`, 'PUT /agents/001/restart']) {
          const socket = connect({ host: '127.0.0.1', port: Number(new URL(at.edge.url).port), allowHalfOpen: true })
          socket.end(head(line))
          t.match(await textOf(socket), 'HTTP/1.1 200 OK', line)
        }
      await at.simulator.faults.clear()
    },
  )
})

t.test('a request that was rejected as too slow has no effect when its rest arrives', async (t) => {
  const simulator = await startSimulator({ agents: 3 })
  t.teardown(() => simulator.close())
  const timeouts = { headers: '1s', body: '1s', expect: '300ms' }
  const settings = { listen: { timeouts } }
  const edge = await startEdge({ nodes: simulator.nodes, password: 'simulated', settings })
  t.teardown(() => edge.close())
  const head = `POST /agents HTTP/1.1\r\nHost: edge\r\nAuthorization: ${edge.authorization('admin')}\r\nContent-Type: application/json\r\n`
  for (const expect of ['', 'Expect: 100-continue\r\n']) {
    const socket = connect(Number(new URL(edge.url).port), '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.write(`${head}${expect}Content-Length: 12\r\n\r\n`)
    let text = ''
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      text += chunk
      if (text.includes('"error":906')) break
    }
    t.match(text, ' 408 ')
    socket.write('{"name":"x"}')
    // The edge closes the connection after it has read the rest.
    if (!socket.closed) await once(socket.resume(), 'close')
    const name = expect === '' ? 'after-slow-body' : 'after-expected-body'
    const body = JSON.stringify({ name, ip: 'any' })
    const length = `Content-Length: ${body.length}\r\n\r\n`
    t.equal((await sendRaw(edge.url, `${head}${length}${body}`)).status, 200)
    const writes = simulator.seen.filter(({ method }) => method === 'POST')
    t.match(writes.at(-1)?.body, name)
    t.equal(writes.length, expect === '' ? 1 : 2, 'only the later write reached a node')
  }
})

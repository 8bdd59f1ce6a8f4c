import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { startSimulator } from '../../../src/simulator/index.ts'
import { startEdge } from '../../support/edge.ts'
import { type Stage, stage } from './rows.ts'

/** Sends the bytes and disconnects without reading the response. */
function sendAndLeave(at: Stage, bytes: string, after: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(at.edge.url).port) }, () => {
      socket.write(bytes, () => void after.then(() => socket.end()))
    })
    socket.resume()
    socket.on('error', () => undefined)
    socket.on('close', () => resolve())
  })
}

const abandoned = (at: Stage) =>
  at.edge.logged.map((line) => JSON.parse(line)).filter(({ msg }) => /^request not answered/.test(msg))

async function until(true_: () => boolean): Promise<void> {
  for (let tries = 0; !true_() && tries < 200; tries++) await wait(20)
}

t.test('clients that disconnect', async (t) => {
  const at = await stage()
  t.teardown(() => at.close())
  const head = (line: string, more = '') =>
    `${line} HTTP/1.1\r\nHost: edge\r\nAuthorization: ${at.edge.authorization('admin')}\r\n${more}\r\n`

  await t.test('a write whose client has disconnected is logged', async (t) => {
    await at.simulator.faults.set('master', { stall: true })
    const before = at.reached()
    const there = until(() => at.reached() > before)
    await sendAndLeave(at, head('PUT /agents/001/restart'), there)
    await until(() => abandoned(at).length > 0)
    t.match(abandoned(at), [
      { method: 'PUT', route: '/agents/:agent_id/restart', caller: 'admin', client: '127.0.0.1', reqId: String },
    ])
    t.equal(abandoned(at)[0]?.status, undefined, 'no status was sent')
    t.notMatch(at.edge.logged.join(''), '"code":949')
    await at.simulator.faults.clear()
  })

  await t.test('an upload whose client disconnects before it is complete is not forwarded', async (t) => {
    const before = at.reached()
    const lines = abandoned(at).length
    const text = `<a>${'&'.repeat(4 * 1024 * 1024)}</a>`
    const type = `Content-Type: application/xml\r\nContent-Length: ${text.length}\r\n`
    await sendAndLeave(at, head('POST /manager/files?path=etc/rules/left.xml', type) + text, Promise.resolve())
    await until(() => abandoned(at).length > lines)
    await wait(2000)
    t.equal(at.reached(), before, 'nothing reached a node')
    t.equal(abandoned(at).length, lines + 1)
  })
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
    await wait(300)
    const writes = simulator.seen.filter(({ method }) => method === 'POST')
    t.equal(writes.length, 0, expect === '' ? 'a slow body' : 'a body that was waited for')
  }
})

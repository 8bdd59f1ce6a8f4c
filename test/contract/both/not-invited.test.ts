/** No client is invited by `100 Continue` to send a body that the path, the query or the headers of its request exclude. */
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { startEdge } from '../../support/edge.ts'

const TYPES = ['application/json', 'application/octet-stream', 'application/xml']

t.test('no record of either contract invites a body that will be refused', async (t) => {
  const simulator = await startSimulator({ layout: 'v4', workers: 0, agents: 3, password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const settings = { listen: { secondPort: 0 }, cluster: { layout: 'v4' } }
  const edge = await startEdge({ nodes: simulator.nodes, password: 'only-for-tests', settings })
  t.teardown(() => edge.close())
  const logIn = { method: 'POST', headers: { authorization: edge.authorization('admin') } }
  const token = await (await fetch(`${edge.secondUrl}/security/user/authenticate?raw=true`, logIn)).text()
  const contracts = {
    v3: { records: catalogue, port: portOf(edge.url), authorization: edge.authorization('admin') },
    v4: { records: v4Contract, port: portOf(edge.secondUrl), authorization: `Bearer ${token}` },
  }
  for (const [name, { records, port, authorization }] of Object.entries(contracts)) {
    const invited: string[] = []
    let sent = 0
    for (const record of records) {
      if (!('body' in record) || record.body === undefined) continue
      const valid = record.path.replaceAll(/:\w+/g, '001')
      const excluded = [[valid, 'text/plain']]
      for (const type of TYPES) {
        if (record.path !== valid) excluded.push([record.path.replaceAll(/:\w+/g, '!'), type])
        if (record.contract === 'v4' || record.strictQuery) excluded.push([`${valid}?nosuch=1`, type])
      }
      for (const [target, type] of excluded) {
        const head = `${record.method} ${target} HTTP/1.1\r\nHost: edge\r\nAuthorization: ${authorization}\r\n`
        const body = `Content-Type: ${type}\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n`
        const status = await firstStatus(port, head + body)
        sent += 1
        if (status < 400) invited.push(`${status} ${record.method} ${target} ${type}`)
      }
    }
    t.ok(sent > 20, `${sent} requests`)
    t.strictSame(invited, [], name)
  }
})

function portOf(url = ''): number {
  return Number(new URL(url).port)
}

async function firstStatus(port: number, bytes: string): Promise<number> {
  const socket = connect(port, '127.0.0.1')
  socket.write(bytes)
  const [head] = await once(socket, 'data')
  socket.destroy()
  return Number(String(head).split(' ', 2)[1])
}

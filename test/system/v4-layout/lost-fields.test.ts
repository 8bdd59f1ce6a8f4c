/** v3 clients in front of release 5.0, whose agents lack some fields: rows are without them, and to ask for one is an error, as for any unknown field. */
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'

const PASSWORD = 'Only-for-1-test'
const LOST = ['configSum', 'group_config_status', 'manager', 'mergedSum', 'node_name', 'os.codename', 'os.uname']

interface Body {
  readonly error: number
  readonly data: { readonly items: Readonly<Record<string, unknown>>[] }
}

t.test('agents of release 5.0 without the fields that it no longer has', async (t) => {
  const simulator = await startSimulator({ layout: 'v4', version: '5.0.0', agents: 5, workers: 0, password: PASSWORD })
  t.teardown(() => simulator.close())
  for (const enabled of [true, false]) {
    const edge = await startEdge({
      nodes: simulator.nodes,
      password: PASSWORD,
      settings: { cluster: { layout: 'v4' }, cache: { enabled } },
    })
    t.teardown(() => edge.close())
    const get = async (query: string) => {
      const headers = { authorization: edge.authorization('admin') }
      const response = await fetch(`${edge.url}/agents?${query}`, { headers })
      return { status: response.status, body: (await response.json()) as Body }
    }
    // The second time, the edge may compute the response from a list of all agents.
    for (const _ of [1, 2]) {
      const { body } = await get('limit=3')
      t.equal(body.error, 0)
      const rows = body.data.items
      t.equal(rows.length, 3)
      for (const field of LOST) {
        const [name = '', part] = field.split('.')
        const has = (row: Readonly<Record<string, unknown>>) =>
          part === undefined ? Object.hasOwn(row, name) : Object.hasOwn(Object(row[name]), part)
        t.notOk(rows.some(has), `${field} in rows`)
        const answers = [await get(`select=${field}`), await get(`sort=${field}`), await get(`q=${field}~x`)]
        const codes = answers.map(({ status, body }) => `${status} ${body.error}`)
        t.strictSame(codes, ['200 1724', '200 1403', '200 1408'], field)
      }
    }
  }
})

/** Wrong logins of one client do not shut others out, in front of a node that blocks the edge after 50 failures. */
import t, { type Test } from 'tap'
import { startSimulator, type V4User } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'

const HONEST = 45
const users: Record<string, V4User> = Object.fromEntries(
  Array.from({ length: HONEST }, (_, nth) => [`user${nth}`, { password: `pw-${nth}`, roles: ['readonly'] }]),
)

async function start(t: Test) {
  const simulator = await startSimulator({ layout: 'v4', workers: 0, agents: 1, v4: { users } })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    settings: {
      listen: { contract: 'v4', trustedProxies: ['127.0.0.1'] },
      cluster: {
        layout: 'v4',
        discover: false,
        credentials: { mode: 'passthrough', username: null, password: null },
      },
      access: { users: null, roles: null },
    },
  })
  t.teardown(() => edge.close())
  return async (address: string, name: string, password: string): Promise<number> => {
    const headers = { authorization: `Basic ${btoa(`${name}:${password}`)}`, 'x-forwarded-for': address }
    const response = await fetch(`${edge.url}/security/user/authenticate`, { method: 'POST', headers })
    await response.arrayBuffer()
    return response.status
  }
}

t.test('after 45 wrong logins of one address, and while they go on, all others log in', async (t) => {
  const logIn = await start(t)
  const first = await Promise.all(Array.from({ length: 45 }, (_, nth) => logIn('203.0.113.66', `guess${nth}`, 'wrong')))
  t.equal(first.filter((status) => status === 401).length, 8, 'logins that the node got')
  let isOver = false
  const attack = (async () => {
    let refused = 0
    for (let nth = 0; !isOver; nth += 1) {
      if ((await logIn('203.0.113.66', `user${nth % HONEST}`, 'wrong')) !== 200) refused += 1
    }
    return refused
  })()
  const honest = await Promise.all(
    Array.from({ length: HONEST }, (_, nth) => logIn(`198.51.100.${nth}`, `user${nth}`, `pw-${nth}`)),
  )
  isOver = true
  t.ok((await attack) > 0)
  t.equal(honest.filter((status) => status === 200).length, HONEST, 'honest logins of 45')
})

t.test('a name that ten strangers try is good from its own address', async (t) => {
  const logIn = await start(t)
  t.equal(await logIn('198.51.100.1', 'user1', 'pw-1'), 200)
  for (let nth = 0; nth < 12; nth += 1) await logIn('203.0.113.66', 'user1', `wrong-${nth}`)
  t.equal(await logIn('198.51.100.1', 'user1', 'pw-1'), 200)
  t.equal(await logIn('198.51.100.2', 'user1', 'pw-1'), 200, 'also from another address')
})

import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'

t.test('the public listener serves no operations endpoint, and /cache needs its permission', async (t) => {
  const simulator = await startSimulator({ agents: 3, workers: 0 })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    password: 'simulated',
    settings: {
      access: { roles: { operator: ['helpdesk'] }, customRoles: { helpdesk: ['agents:read', 'rules:read'] } },
    },
  })
  t.teardown(() => edge.close())
  const send = async (path: string, user: string | undefined, method = 'GET') => {
    const headers = { accept: 'application/json', ...(user && { authorization: edge.authorization(user) }) }
    const reply = await fetch(edge.url + path, { method, headers })
    return {
      status: reply.status,
      ...(JSON.parse((await reply.text()) || '{}') as { error?: number; data?: unknown }),
    }
  }
  t.equal((await send('/agents/001', 'admin')).status, 200)
  const before = simulator.seen.length
  for (const path of [
    '/metrics',
    '/admin',
    '/admin/users',
    '/livez',
    '/readyz',
    '/console/',
    '/api/now',
    '/api/entries',
    '/docs',
  ]) {
    t.match(await send(path, 'admin'), { status: 404, error: 603 }, path)
    t.match(await send(path, undefined), { status: 401, error: 901 }, `${path}, without credentials`)
  }
  t.match(await send('/api/purge', 'admin', 'POST'), { status: 404, error: 603 })
  for (const path of ['/cache', '/cache/config', '/cache?details=true']) {
    t.match(await send(path, 'operator'), { status: 403, error: 902 }, `${path}, without cache:read`)
    t.match(await send(path, undefined), { status: 401, error: 901 }, `${path}, without credentials`)
    t.equal((await send(path, 'reader')).status, 200, `${path}, with cache:read`)
  }
  t.match(await send('/cache', 'reader', 'DELETE'), { status: 403, error: 902 }, 'a reader may not purge')
  t.equal(simulator.seen.length, before, 'no node was called')
})

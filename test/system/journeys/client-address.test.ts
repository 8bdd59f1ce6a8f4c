import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'

t.test('an agent that is registered without ip gets the address of the client', async (t) => {
  const simulator = await startSimulator({ workers: 0, agents: 3, username: 'edge', password: 'only-for-tests' })
  const trusting = await startEdge({
    nodes: simulator.nodes,
    settings: { listen: { trustedProxies: ['127.0.0.0/8'] } },
  })
  const careful = await startEdge({ nodes: simulator.nodes })
  t.teardown(async () => {
    await trusting.close()
    await careful.close()
    await simulator.close()
  })

  async function register(edge: typeof trusting, name: string, forwarded?: string | object, ip?: string) {
    const answer = await fetch(`${edge.url}/agents`, {
      method: 'POST',
      headers: {
        authorization: edge.authorization('admin'),
        'content-type': 'application/json',
        ...(typeof forwarded === 'string' ? { 'x-forwarded-for': forwarded } : forwarded),
      },
      body: JSON.stringify({ name, ...(ip !== undefined && { ip }) }),
    })
    const body = (await answer.json()) as { error: number }
    const agent = [...simulator.world.agents.values()].find((one) => one.name === name)
    return { status: answer.status, error: body.error, ip: agent?.registerIP }
  }

  t.match(await register(careful, 'plain'), { error: 0, ip: '127.0.0.1' }, 'its TCP peer')
  t.match(
    await register(careful, 'forged', '10.6.6.6'),
    { error: 9007 },
    'no proxy is trusted by default: the TCP peer again, whose address is taken',
  )
  t.match(await register(trusting, 'behind', '10.1.1.1'), { error: 0, ip: '10.1.1.1' })
  t.match(
    await register(trusting, 'list', '6.6.6.6, 10.1.1.2'),
    { error: 0, ip: '10.1.1.2' },
    'the last address that is no trusted proxy',
  )
  t.match(await register(trusting, 'two-hops', '10.1.1.3, 127.0.0.9'), { error: 0, ip: '10.1.1.3' })
  t.match(await register(trusting, 'mapped', '::ffff:10.1.1.4'), { error: 0, ip: '10.1.1.4' })
  t.match(await register(trusting, 'port', '10.1.1.6:53211'), { error: 0, ip: '10.1.1.6' })
  t.match(await register(trusting, 'rfc', { forwarded: 'for="10.1.1.7:80"' }), { error: 0, ip: '10.1.1.7' })
  const warnings = () => trusting.logged.filter((line) => line.includes('client address not readable'))
  t.same(warnings(), [])
  t.match(
    await register(trusting, 'unknown', 'unknown'),
    { status: 400, error: 606, ip: undefined },
    'none is invented',
  )
  t.match(JSON.parse(warnings()[0] ?? '{}'), { level: 'warn', header: 'X-Forwarded-For', proxy: '127.0.0.1' })
  t.match(await register(trusting, 'told', 'unknown', '10.1.1.8'), { error: 0, ip: '10.1.1.8' })
  t.match(await register(trusting, 'six', '2001:db8::1'), { status: 400, error: 606 }, 'the manager knows IPv4 only')
  t.match(
    await register(trusting, 'named', '10.1.1.5', '10.2.2.2'),
    { error: 0, ip: '10.2.2.2' },
    'the ip of the body takes precedence',
  )
})

import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'

t.test('clients that prefer a minimal response of /cache get counts instead of URLs', async (t) => {
  const simulator = await startSimulator({ workers: 0, agents: 5, username: 'edge', password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  // Long lifetimes, so that the result does not depend on the speed of the test.
  const edge = await startEdge({
    nodes: simulator.nodes,
    settings: { cache: { ttl: { agents: '10m', rules: '10m' } } },
  })
  t.teardown(() => edge.close())
  const call = async (method: string, path: string, prefer?: string) => {
    const headers = { authorization: edge.authorization('admin'), ...(prefer !== undefined && { prefer }) }
    const response = await fetch(`${edge.url}${path}`, { method, headers })
    const { data } = (await response.json()) as { readonly data: unknown }
    return { data, applied: response.headers.get('preference-applied') }
  }
  for (const path of ['/agents/001', '/agents/002', '/rules?limit=1']) await call('GET', path)

  const counts = { all: 3, groups: { agents: 2, rules: 1 } }
  for (const prefer of [
    'return=minimal',
    'respond-async, Return="MINIMAL"; x=1',
    'return=minimal, return=representation',
  ]) {
    t.strictSame(await call('GET', '/cache', prefer), { data: counts, applied: 'return=minimal' }, prefer)
  }
  const full = { data: { all: Array, groups: { agents: Array, rules: Array } }, applied: null }
  for (const prefer of [
    undefined,
    'return=representation',
    'x-return=minimal',
    'return=minimalist',
    'return=representation, return=minimal',
  ]) {
    t.match(await call('GET', '/cache', prefer), full, String(prefer))
  }
  t.match(
    await call('GET', '/agents/001', 'return=minimal'),
    { data: { id: '001' }, applied: null },
    'elsewhere no effect',
  )

  const purged = await call('DELETE', '/cache/rules', 'return=minimal')
  t.strictSame(purged, { data: { all: 2, groups: { agents: 2 } }, applied: 'return=minimal' })
  t.match(await call('DELETE', '/cache/unknown'), { data: { all: ['/agents/001', '/agents/002'] }, applied: null })
  t.strictSame((await call('DELETE', '/cache', 'return=minimal')).data, { all: 0, groups: {} })
})

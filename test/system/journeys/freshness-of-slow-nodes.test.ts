import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { simulated } from '../../support/simulated.ts'
import { together } from '../../support/together.ts'
import { ask, type Reply } from './edge-mode.ts'

const test = together(t, 2)

const ageOf = ({ headers }: Reply) => Number(headers.get('age'))

const FETCH_MS = 1300

test('a response that takes longer than its TTL is fresh for its TTL after it arrived', async (t) => {
  const settings = { cluster: { discover: false }, cache: { ttl: { manager: '1s' } } }
  const { edge, simulator } = await simulated(t, { workers: 0, agents: 5 }, { settings })
  await simulator.faults.set('master', { delay: FETCH_MS })
  const calls = () => simulator.seen.filter(({ url }) => url.startsWith('/manager/logs')).length
  const first = await ask(edge, 'GET /manager/logs?limit=2')
  t.match(first.headers.get('cache-status'), /fwd=uri-miss; stored; ttl=1$/)
  t.ok(ageOf(first) >= 1, 'the age is counted from the start of the call')
  const second = await ask(edge, 'GET /manager/logs?limit=2')
  t.match(second.headers.get('cache-status'), /; hit; ttl=0$/)
  t.ok(ageOf(second) >= 1)
  t.equal(calls(), 1)
})

test('a response that is requested often is refreshed before it expires, so no request waits', async (t) => {
  const settings = { cluster: { discover: false }, cache: { ttl: { agents: '4s' } } }
  const { edge, simulator } = await simulated(t, { workers: 0, agents: 5 }, { settings })
  await simulator.faults.set('master', { delay: 200 })
  const calls = () => simulator.seen.filter(({ url }) => url.startsWith('/agents/001')).length
  const statuses = new Set<string>()
  const read = async () => {
    const { headers } = await ask(edge, 'GET /agents/001')
    statuses.add((headers.get('cache-status') ?? '').replace(/; ttl=.*/, ''))
  }
  await read()
  t.strictSame([...statuses], ['manager-edge; fwd=uri-miss; stored'])
  statuses.clear()
  await eventually(async () => {
    await read()
    return calls() === 4
  })
  t.strictSame([...statuses], ['manager-edge; hit'])
})

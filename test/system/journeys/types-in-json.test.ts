import t from 'tap'
import { simulated } from '../../support/simulated.ts'
import { ask } from './edge-mode.ts'

/** What clients send, and what the node receives. */
const accepted = [
  ['POST /agents', { name: 'a1', ip: '10.9.0.1', force: '0' }, { name: 'a1', ip: '10.9.0.1', force: 0 }],
  ['POST /agents', { name: 'a2', ip: '10.9.0.2', force: 0 }, { name: 'a2', ip: '10.9.0.2', force: 0 }],
  ['POST /agents/restart', { ids: '001,2' }, { ids: ['001', '002'] }],
  ['POST /agents/restart', { ids: [1, '002'] }, { ids: ['001', '002'] }],
  ['POST /agents/group/default', { ids: [1] }, { ids: ['001'] }],
  ['PUT /active-response/001', { command: '!x.sh', custom: 'true' }, { command: '!x.sh', custom: true }],
] as const

const key = 'a'.repeat(64)

t.test('numbers, Booleans and ids are accepted as texts and as numbers', async (t) => {
  const { simulator, edge } = await simulated(t, { workers: 0, agents: 5 })
  const forwarded = () => JSON.parse(simulator.seen.findLast(({ method }) => method !== 'GET')?.body ?? 'null')
  for (const [call, sent, received] of accepted) {
    const { status, body } = await ask(edge, call, sent)
    t.match({ status, body }, { status: 200, body: { error: 0 } }, `${call} ${JSON.stringify(sent)}`)
    t.strictSame(forwarded(), received, `${call} ${JSON.stringify(sent)}`)
  }
  const inserted = await ask(edge, 'POST /agents/insert', { name: 'i1', ip: 'any', id: 950, key, force: '1' })
  t.match(inserted.body, { error: 0, data: { id: '950' } })
  t.strictSame(forwarded(), { name: 'i1', ip: 'any', id: '950', key, force: 1 })
})

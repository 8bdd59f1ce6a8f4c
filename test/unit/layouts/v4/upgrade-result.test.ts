/** The outcome of an upgrade, which the node of the v4 layout answers with the state of a task. */
import { mock } from 'node:test'
import t from 'tap'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask, recorded, success } from './recorded.ts'

const task = (status: string) => success([{ agent: '003', task_id: 1, command: 'upgrade', status }])
const INTERVAL_MS = 5_000
/** That of slow endpoints. */
const TIMEOUT_MS = 120_000

/** Asks with a clock that moves as soon as the edge waits. `states`: of one call each; the last one stays. */
async function resultOf(
  states: readonly string[],
  overrides: { query?: Record<string, string>; waitForComplete?: boolean } = {},
) {
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    const request = edgeRequest('GET', '/agents/:agent_id/upgrade_result', {
      params: { agent_id: '003' },
      ...overrides,
    })
    let asked = 0
    const answer = ask(request, () => task(states[Math.min(asked++, states.length - 1)] ?? ''), TIMEOUT_MS)
    let isDone = false
    void answer.finally(() => {
      isDone = true
    })
    while (!isDone) {
      await new Promise(setImmediate)
      mock.timers.tick(INTERVAL_MS)
    }
    return { asked, ...(await answer) }
  } finally {
    mock.timers.reset()
  }
}

t.test('an upgrade that has ended is answered at once', async (t) => {
  const { calls, data } = await resultOf(['Updated'])
  t.same(calls, ['GET /agents/upgrade_result?agents_list=003'])
  t.equal(data, 'Agent upgraded successfully')
})

t.test('the edge asks every five seconds until the upgrade has ended', async (t) => {
  const { asked, data } = await resultOf(['In queue', 'Updating', 'Updated'])
  t.equal(asked, 3)
  t.equal(data, 'Agent upgraded successfully')
})

t.test('an upgrade that failed is error 1716', async (t) => {
  const { json } = await resultOf(['Updating', 'Error'])
  t.same(json, { error: 1716, message: 'Error upgrading agent' })
})

t.test('after ten seconds the v3 time limit is reached', async (t) => {
  const { asked, json } = await resultOf(['Updating'])
  t.equal(asked, 3)
  t.same(json, { error: 3021, message: 'Timeout executing API request' })
})

t.test('without a time limit, timeout counts the attempts', async (t) => {
  const { asked, json } = await resultOf(['Updating'], { query: { timeout: '4' }, waitForComplete: true })
  t.equal(asked, 5)
  t.match(json, { error: 1716 })
})

t.test('an agent without an upgrade, and one that is not active, are errors', async (t) => {
  const of = (agent_id: string) => {
    const request = edgeRequest('GET', '/agents/:agent_id/upgrade_result', { params: { agent_id } })
    return ask(request, () => recorded(`GET /agents/upgrade_result?agents_list=${agent_id}`))
  }
  t.match((await of('001')).json, { error: 1716 })
  t.match((await of('004')).json, { error: 1720 })
  t.match((await of('999')).json, { error: 1701 })
})

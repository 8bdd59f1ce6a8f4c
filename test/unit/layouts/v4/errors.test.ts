/** What errors of a node with the v4 layout are in the v3 one. */
import t from 'tap'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask } from './recorded.ts'

function problem(status: number, detail: string, error?: number) {
  const body = Buffer.from(JSON.stringify({ title: 'Bad Request', detail, ...(error !== undefined && { error }) }))
  return { status, type: 'application/problem+json', body }
}

async function outcomeOf(response: ReturnType<typeof problem>, query: Record<string, string> = {}) {
  const { status, json } = await ask(edgeRequest('GET', '/agents', { query }), () => response)
  return { status, ...(json as { error: number; message: string }) }
}

t.test('codes of the framework have status 200 and their v3 text, without detail', async (t) => {
  for (const [status, code, detail, error, message] of [
    [400, 1703, 'Action not available for Manager (agent 000)', 1703, 'Action not available for Manager (Agent 000)'],
    [404, 1710, 'The group does not exist: nope', 1710, 'The group does not exist'],
    [400, 3022, 'Unknown node ID: worker-2', 3022, 'Unknown node ID'],
    [400, 3023, 'Worker node is not connected to master', 3023, 'Worker node is not connected to master'],
    [500, 3021, 'Timeout executing API request', 3021, 'Timeout executing API request'],
    [500, 1000, 'Wazuh Internal Error', 1000, 'Internal error'],
    [400, 2003, 'Error in wazuhdb request: unrecognized token', 1000, 'Internal error'],
    [
      400,
      1121,
      'Error connecting with socket: mail',
      1117,
      'Unable to connect with component. The component might be disabled.',
    ],
    [400, 1730, 'Node does not exist', 3022, 'Unknown node ID'],
    [400, 9999, 'A code of a later release: detail', 9999, 'A code of a later release'],
  ] as const) {
    t.same(await outcomeOf(problem(status, detail, code)), { status: 200, error, message })
  }
})

t.test('a node whose daemons are not ready names them as the v3 layout does', async (t) => {
  const detail =
    'Some Wazuh daemons are not ready yet in node "master" (wazuh-modulesd->restarting, wazuh-analysisd->restarting, wazuh-db->failed)'
  t.same(await outcomeOf(problem(400, detail, 1017)), {
    status: 200,
    error: 1017,
    message:
      'Some Wazuh daemons are not ready yet in node "master" (wazuh-modulesd->restarting, ossec-analysisd->restarting, wazuh-db->failed)',
  })
})

t.test('a missing permission keeps status 403', async (t) => {
  const outcome = await outcomeOf(problem(403, 'Permission denied: Resource type: agent:id', 4000))
  t.same(outcome, { status: 403, error: 4000, message: 'Permission denied' })
})

t.test('an agent without a database has no rows', async (t) => {
  const { json } = await ask(edgeRequest('GET', '/agents'), () =>
    problem(400, 'There is no database for agent 007', 2007),
  )
  t.same(json, { error: 0, data: { items: [], totalItems: 0 } })
})

t.test('a fault of the API process is error 3 with status 500', async (t) => {
  t.same(await outcomeOf(problem(500, 'Server got itself in trouble')), {
    status: 500,
    error: 3,
    message: 'Internal error',
  })
})

t.test('a body that is too large is error 701', async (t) => {
  t.match(await outcomeOf(problem(413, 'Maximum request body size 10485760 exceeded')), { status: 400, error: 701 })
})

t.test('a path that the node does not know is error 603', async (t) => {
  t.match(await outcomeOf(problem(404, '404: Not Found')), { status: 404, error: 603 })
})

t.test('faults of parameters are recognised by the texts of the validators', async (t) => {
  const instance = (value: string) =>
    `Failed validating 'format' in schema: {'type': 'string'}. On instance: '${value}'`
  for (const [detail, query, error, message] of [
    [`'1d' is not a 'timeframe'. ${instance('1d')}`, { older_than: '1d' }, 617, / {2}Field: older_than$/],
    [
      "Wrong type, expected 'integer' for query parameter 'limit'",
      { limit: '1' },
      600,
      /Integer expected\. {2}Field: limit$/,
    ],
    ['0 is less than the minimum of 1. Failed validating', {}, 1406, /./],
    ['100001 is greater than the maximum of 100000. Failed validating', {}, 1405, /./],
    ['Extra query parameter(s) foo not in spec', {}, 604, /^Filter error/],
    ["Missing query parameter 'agents_list'", {}, 604, /Missing field: 'agents_list'$/],
    ["'abc' is not a 'numbers'. Failed validating 'format'", {}, 600, /^Param not valid\. Integer expected\.$/],
    ["'{' is not of type 'object'", {}, 614, /./],
    ['something else', {}, 614, /./],
  ] as const) {
    t.match(await outcomeOf(problem(400, detail), query), { error, message }, detail)
  }
})

t.test('a filter by a text that the node refuses finds no rows, as in the v3 layout', async (t) => {
  const detail = `'a b' is not a 'group_names'. Failed validating 'format' in schema: {}. On instance: 'a b'`
  t.match(await outcomeOf(problem(400, detail), { group: 'a b' }), { error: 0, data: { items: [], totalItems: 0 } })
})

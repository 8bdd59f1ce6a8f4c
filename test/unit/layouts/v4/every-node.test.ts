/** v4 layout: restarts and validations of one node and of all nodes. */
import t from 'tap'
import { ask, items } from './recorded-node.ts'

const whole = '/cluster/configuration/validation'
const invalid =
  "Error validating configuration: (1235): Invalid value for element 'logall': maybe., (1202): Configuration error at 'etc/ossec.conf'."

t.test('a validation of the master asks the master for itself', async (t) => {
  const { calls, envelope } = await ask('GET', '/manager/configuration/validation')
  t.strictSame(calls, ['GET /manager/configuration/validation'])
  t.strictSame(envelope, { error: 0, data: { status: 'OK' } })
})

t.test('a validation of a worker asks the cluster for one node', async (t) => {
  const { calls, envelope } = await ask('GET', '/cluster/:node_id/configuration/validation', {
    params: { node_id: 'worker-1' },
  })
  t.strictSame(calls, ['GET /cluster/configuration/validation?nodes_list=worker-1'])
  t.strictSame(envelope, { error: 0, data: { status: 'OK' } })
})

t.test('a validation of an unknown node is the v3 error', async (t) => {
  const { envelope } = await ask('GET', '/cluster/:node_id/configuration/validation', { params: { node_id: 'nope' } })
  t.match(envelope, { error: 3022, message: /^Unknown node ID/ })
})

t.test('a validation of all nodes is one verdict of one call', async (t) => {
  const { calls, envelope } = await ask('GET', whole)
  t.strictSame(calls, [`GET ${whole}`])
  t.strictSame(envelope, { error: 0, data: { status: 'OK' } })
})

t.test('one node with an invalid configuration makes the verdict KO', async (t) => {
  const body = items(
    [
      { name: 'master', status: 'OK' },
      { name: 'worker-1', status: 'OK' },
    ],
    [['worker-2', 1908, invalid]],
  )
  const { status, envelope } = await ask('GET', whole, { replies: { [`GET ${whole}`]: { body } } })
  t.strictSame(
    { status, ...envelope },
    {
      status: 200,
      error: 0,
      data: { status: 'KO', details: [invalid.slice('Error validating configuration: '.length)] },
    },
  )
})

t.test('the reasons of a KO are those of all nodes, each once', async (t) => {
  const body = items(
    ['master', 'worker-1', 'worker-2'].map((name) => ({ name, status: 'KO', details: ['same', name] })),
  )
  const { envelope } = await ask('GET', whole, { replies: { [`GET ${whole}`]: { body } } })
  t.strictSame(envelope.data, { status: 'KO', details: ['same', 'master', 'worker-1', 'worker-2'] })
})

t.test('a stopped worker, which the cluster leaves out, means that there is no verdict', async (t) => {
  const asked = ask('GET', whole, { workers: ['worker-1', 'worker-2', 'worker-3'] })
  await t.rejects(asked, { code: 924, message: /worker-3: missing in the response/ })
})

t.test('a node that cannot validate means that there is no verdict', async (t) => {
  const body = items(
    [
      { name: 'master', status: 'OK' },
      { name: 'worker-1', status: 'OK' },
    ],
    [['worker-2', 1017, 'Some Wazuh daemons are not ready yet']],
  )
  const { envelope } = await ask('GET', whole, { replies: { [`GET ${whole}`]: { body } } })
  t.strictSame(envelope, { error: 1017, message: 'Some Wazuh daemons are not ready yet (worker-2)' })
})

t.test('the master restarts itself', async (t) => {
  const { calls, envelope } = await ask('PUT', '/manager/restart')
  t.strictSame(calls, ['PUT /manager/restart'])
  t.strictSame(envelope, { error: 0, data: 'Restart request sent' })
})

t.test('the master restarts, and not the worker that answers for it', async (t) => {
  const call = 'PUT /cluster/restart?nodes_list=master'
  const { calls, envelope } = await ask('PUT', '/manager/restart', {
    at: 'worker-1',
    replies: { [call]: { body: items(['master']) } },
  })
  t.strictSame(calls, [call])
  t.strictSame(envelope, { error: 0, data: 'Restart request sent' })
})

t.test('a worker is restarted through the cluster', async (t) => {
  const call = 'PUT /cluster/restart?nodes_list=worker-2'
  const { calls, envelope } = await ask('PUT', '/cluster/:node_id/restart', {
    params: { node_id: 'worker-2' },
    replies: { [call]: { body: items(['worker-2']) } },
  })
  t.strictSame(calls, [call])
  t.strictSame(envelope, { error: 0, data: 'Restart request sent' })
})

t.test('a restart of an unknown node is the v3 error', async (t) => {
  const { envelope } = await ask('PUT', '/cluster/:node_id/restart', { params: { node_id: 'nope' } })
  t.strictSame(envelope, { error: 3022, message: 'Unknown node ID' })
})

t.test('a restart of all nodes is one text', async (t) => {
  const { envelope } = await ask('PUT', '/cluster/restart')
  t.strictSame(envelope, { error: 0, data: 'Restart request sent' })
})

t.test('a restart that leaves nodes out names them and those that restart', async (t) => {
  const body = items(['master', 'worker-1'], [['worker-2', 1017, 'Some Wazuh daemons are not ready yet']])
  const asked = ask('PUT', '/cluster/restart', {
    workers: ['worker-1', 'worker-2', 'worker-3'],
    replies: { 'PUT /cluster/restart': { body } },
  })
  await t.rejects(asked, {
    code: 932,
    message:
      /carried out on master, worker-1; not on worker-2: 1017 Some Wazuh daemons are not ready yet; worker-3: missing in the response/,
  })
})

t.test('a restart of which a node may still be working is said to have an unknown outcome', async (t) => {
  const body = items(['master', 'worker-1'], [['worker-2', 3020, 'Timeout sending request']])
  const asked = ask('PUT', '/cluster/restart', { replies: { 'PUT /cluster/restart': { body } } })
  await t.rejects(asked, { code: 933, message: /worker-2: 3020/ })
})

t.test('a caller who may not restart or validate any node gets no success', async (t) => {
  for (const [method, path] of [
    ['PUT', '/cluster/restart'],
    ['GET', whole],
  ] as const) {
    const { status, envelope } = await ask(method, path, { replies: { [`${method} ${path}`]: { body: items([]) } } })
    t.strictSame({ status, ...envelope }, { status: 403, error: 4000, message: 'Permission denied' }, path)
  }
})

/** v4 layout: the configuration file of a node, and the configuration that its components use. */
import t from 'tap'
import { ask, items } from './recorded-node.ts'

t.test('the whole file has its sections under their names', async (t) => {
  const { envelope } = await ask('GET', '/manager/configuration')
  t.match(envelope.data, { global: { jsonout_output: 'yes' }, alerts: { log_alert_level: '3' } })
})

t.test('a section has no name around it', async (t) => {
  const { envelope } = await ask('GET', '/cluster/:node_id/configuration', {
    params: { node_id: 'worker-1' },
    query: { section: 'cluster' },
  })
  t.match(envelope.data, { name: 'wazuh', node_name: 'worker-1', port: '1516', disabled: 'no' })
})

t.test('a section that is a list is an array, with one text for all protocols', async (t) => {
  const { envelope } = await ask('GET', '/manager/configuration', { query: { section: 'remote' } })
  t.strictSame(envelope.data, [{ connection: 'secure', port: '1514', protocol: 'tcp,udp' }])
})

t.test('a field of a section is its value', async (t) => {
  const { calls, envelope } = await ask('GET', '/manager/configuration', {
    query: { section: 'global', field: 'white_list' },
  })
  t.strictSame(calls, ['GET /manager/configuration?section=global'])
  t.strictSame(envelope.data, ['127.0.0.1', '^localhost.localdomain$', '10.0.0.2'])
})

t.test('an unknown field is the v3 error', async (t) => {
  const { status, envelope } = await ask('GET', '/manager/configuration', {
    query: { section: 'global', field: 'nope' },
  })
  t.strictSame({ status, ...envelope }, { status: 200, error: 1103, message: 'Invalid field in section' })
})

t.test('an unknown section is the v3 error', async (t) => {
  const refused = {
    title: 'Bad Request',
    detail: "'nope' is not one of ['alerts']. Failed validating 'enum' in schema. On instance: 'nope'",
  }
  const { status, envelope } = await ask('GET', '/manager/configuration', {
    query: { section: 'nope' },
    replies: {
      'GET /manager/configuration?section=nope': { status: 400, type: 'application/problem+json', body: refused },
    },
  })
  t.strictSame({ status, ...envelope }, { status: 200, error: 1102, message: 'Invalid section' })
})

t.test('a section that is not in the file is the v3 error', async (t) => {
  const { envelope } = await ask('GET', '/manager/configuration', { query: { section: 'open-scap' } })
  t.strictSame(envelope, { error: 1106, message: 'Requested section not present in configuration' })
})

t.test('the times of registration are seconds, in the file and in use', async (t) => {
  const force = { enabled: 'yes', key_mismatch: 'yes', disconnected_time: { enabled: 'yes', item: '1h' } }
  const replies = { 'GET /manager/configuration?section=auth': { body: items([{ auth: { port: '1515', force } }]) } }
  const file = await ask('GET', '/manager/configuration', { query: { section: 'auth' }, replies })
  t.strictSame(file.envelope.data, { port: '1515', force_insert: 'yes', force_time: '3600' })
  const used = await ask('GET', '/manager/config/:component/:configuration', {
    params: { component: 'auth', configuration: 'auth' },
  })
  t.match(used.envelope.data, { auth: { port: 1515, force_insert: 'yes', force_time: 3600 } })
  t.notOk(Object.hasOwn((used.envelope.data as { auth: object }).auth, 'force'))
})

t.test('a registration that replaces connected agents too has the v3 word for it', async (t) => {
  const force = { enabled: 'yes', disconnected_time: { enabled: 'no', value: 3600 } }
  const { envelope } = await ask('GET', '/manager/config/:component/:configuration', {
    params: { component: 'auth', configuration: 'auth' },
    replies: { 'GET /manager/configuration/auth/auth': { body: items([{ auth: { force } }]) } },
  })
  t.strictSame(envelope.data, { auth: { force_insert: 'yes', force_time: 'always' } })
})

t.test('the configuration in use is the object', async (t) => {
  const { calls, envelope } = await ask('GET', '/cluster/:node_id/config/:component/:configuration', {
    params: { node_id: 'worker-1', component: 'analysis', configuration: 'global' },
  })
  t.strictSame(calls, ['GET /cluster/worker-1/configuration/analysis/global'])
  t.match(envelope.data, { global: { email_notification: 'no', memory_size: 8192 } })
})

t.test(
  'an unknown component of an unknown node is named by the v3 error, whatever the names have in common',
  async (t) => {
    const { envelope } = await ask('GET', '/cluster/:node_id/config/:component/:configuration', {
      params: { node_id: 'nope', component: 'nope', configuration: 'nope' },
    })
    t.strictSame(envelope, { error: 1101, message: 'Requested component does not exist' })
  },
)

t.test('a component without such settings has an empty object', async (t) => {
  const { envelope } = await ask('GET', '/manager/config/:component/:configuration', {
    params: { component: 'logcollector', configuration: 'socket' },
  })
  t.strictSame(envelope, { error: 0, data: {} })
})

for (const [name, component, configuration, error, message] of [
  [
    'a component that does not run',
    'mail',
    'global',
    1117,
    'Unable to connect with component. The component might be disabled.',
  ],
  [
    'a configuration of another component',
    'analysis',
    'labels',
    1116,
    'Requested component configuration does not exist',
  ],
  ['an unknown configuration', 'analysis', 'nope', 1116, 'Requested component configuration does not exist'],
  ['a component of agents', 'agent', 'client', 1116, 'Requested component configuration does not exist'],
] as const) {
  t.test(`${name} is the v3 error`, async (t) => {
    const { status, envelope } = await ask('GET', '/manager/config/:component/:configuration', {
      params: { component, configuration },
    })
    t.strictSame({ status, ...envelope }, { status: 200, error, message })
  })
}

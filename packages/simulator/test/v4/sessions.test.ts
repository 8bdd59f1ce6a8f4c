import t from 'tap'
import { basic, startV4 } from './ask.ts'

const PASSWORD = 'Str0ng-password'

async function startTicking(t: Parameters<typeof startV4>[0]) {
  let now = new Date('2026-11-22T10:00:00Z')
  const started = await startV4(t, { now: () => now, agents: 5 })
  const tick = (seconds = 1) => {
    now = new Date(now.getTime() + seconds * 1000)
  }
  const change = async (request: string, body?: unknown) => {
    tick()
    const options = body === undefined ? {} : { type: 'application/json', body: JSON.stringify(body) }
    // A change of the security may have ended the token of the administrator.
    const authorization = `Bearer ${await started.logIn()}`
    const reply = await started.ask(request, { ...options, authorization })
    t.equal(reply.json?.error, 0, `${request} ${reply.text}`)
    tick()
    return reply.json?.data?.affected_items?.[0]?.id
  }
  const logIn = async (user: string, password = PASSWORD) => {
    const authorization = basic(user, password)
    return (await started.ask('POST /security/user/authenticate?raw=true', { authorization })).text
  }
  return { ...started, tick, change, logIn }
}

t.test('a token is a JSON Web Token with the claims of the contract', async (t) => {
  const { ask, logIn } = await startV4(t, { agents: 1 })
  const [header, claims] = (await logIn()).split('.').map((part) => Buffer.from(part, 'base64url').toString('utf8'))
  t.same(JSON.parse(header ?? ''), { alg: 'ES512', typ: 'JWT' })
  const read = JSON.parse(claims ?? '') as Record<string, unknown>
  t.match(read, {
    iss: 'wazuh',
    aud: 'Wazuh API REST',
    sub: 'edge',
    run_as: false,
    rbac_roles: [1],
    rbac_mode: 'white',
  })
  t.equal(Number(read.exp) - Number(read.nbf), 900)
  const worker = await logIn('edge', 'worker-1')
  t.equal((await ask('GET /agents', { authorization: `Bearer ${worker}` })).status, 401, 'good at its node only')
  t.equal((await ask('GET /agents', { authorization: 'Bearer a.b.c' })).json?.detail, 'Invalid token')
})

t.test(
  'a change of a password, role, policy, rule or of the configuration ends the tokens that it concerns',
  async (t) => {
    const { ask, tick, change, logIn } = await startTicking(t)
    const user = await change('POST /security/users', { username: 'anna', password: PASSWORD })
    const role = await change('POST /security/roles', { name: 'readers' })
    const policy = await change('POST /security/policies', {
      name: 'read-001',
      policy: { actions: ['agent:read'], resources: ['agent:id:001'], effect: 'allow' },
    })
    const rule = await change('POST /security/rules', { name: 'of-anna', rule: { FIND: { name: 'anna' } } })
    await change(`POST /security/roles/${role}/policies?policy_ids=${policy}`)
    await change(`POST /security/users/${user}/roles?role_ids=${role}`)
    const changes: readonly (readonly [request: string, body?: unknown])[] = [
      [`PUT /security/users/${user}`, { password: `${PASSWORD}2` }],
      [`PUT /security/users/${user}/run_as?allow_run_as=true`],
      [`PUT /security/roles/${role}`, { name: 'viewers' }],
      [`PUT /security/policies/${policy}`, { name: 'read-one' }],
      [`POST /security/roles/${role}/rules?rule_ids=${rule}`],
      [`PUT /security/rules/${rule}`, { rule: { FIND: { name: 'benn' } } }],
      [`DELETE /security/roles/${role}/policies?policy_ids=${policy}`],
      [`DELETE /security/users/${user}/roles?role_ids=${role}`],
      ['PUT /security/config', { auth_token_exp_timeout: 60 }],
      ['DELETE /security/config'],
      ['PUT /security/user/revoke'],
    ]
    let password = PASSWORD
    for (const [request, body] of changes) {
      const authorization = `Bearer ${await logIn('anna', password)}`
      t.equal((await ask('GET /agents', { authorization })).status, 200, `before ${request}`)
      await change(request, body)
      if (request.endsWith(`/users/${user}`)) password = `${PASSWORD}2`
      t.equal((await ask('GET /agents', { authorization })).status, 401, `after ${request}`)
    }
    const last = `Bearer ${await logIn('anna', password)}`
    tick(901)
    t.equal((await ask('GET /agents', { authorization: last })).status, 401, 'expired')
  },
)

t.test('an authorisation context gets the roles whose rules hold', async (t) => {
  const { ask, change, logIn } = await startTicking(t)
  const user = await change('POST /security/users', { username: 'gateway', password: PASSWORD })
  await change(`PUT /security/users/${user}/run_as?allow_run_as=true`)
  const rule = await change('POST /security/rules', {
    name: 'operators',
    rule: { AND: [{ MATCH: { team: "r'^op'" } }, { NOT: { FIND: { guest: true } } }] },
  })
  const role = await change('POST /security/roles', { name: 'operators' })
  await change(`POST /security/roles/${role}/policies?policy_ids=4`)
  const linked = await ask(`POST /security/roles/${role}/rules?rule_ids=${rule}`, {
    authorization: `Bearer ${await logIn('edge', 'simulated')}`,
  })
  t.equal(linked.json?.error, 0)
  const seen = async (context: unknown) => {
    const reply = await ask('POST /security/user/authenticate/run_as?raw=true', {
      authorization: basic('gateway', PASSWORD),
      type: 'application/json',
      body: JSON.stringify(context),
    })
    const agents = await ask('GET /agents', { authorization: `Bearer ${reply.text}` })
    return agents.json?.data?.total_affected_items
  }
  t.equal(await seen({ team: 'operations' }), 6, 'all agents and the manager')
  t.equal(await seen({ team: 'operations', guest: true }), 0)
  t.equal(await seen({ team: 'finance' }), 0)
})

t.test('in the mode black, what no policy names is allowed', async (t) => {
  const { ask, change, logIn } = await startTicking(t)
  await change('POST /security/users', { username: 'anna', password: PASSWORD })
  const status = async () => {
    const authorization = `Bearer ${await logIn('anna')}`
    return (await ask('GET /manager/info', { authorization })).status
  }
  t.equal(await status(), 403)
  await change('PUT /security/config', { rbac_mode: 'black' })
  t.equal(await status(), 200)
})

/**
 * Ends of tokens hold at the edge, in front of a manager that forgets them: each of its nodes checks tokens in two processes,
 * each remembers accepted tokens for 900 s, and an end reaches one of them.
 */
import t from 'tap'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { twoReplicas } from './two-replicas.ts'

/** What ends the tokens of eve (user 5), who has the role 2 with a policy, and gets the role 100 with a rule. */
const requests: Readonly<Record<string, readonly [path: string, body?: object]>> = {
  'DELETE /security/user/authenticate': ['/security/user/authenticate'],
  'PUT /security/user/revoke': ['/security/user/revoke'],
  'PUT /security/users/:user_id/run_as': ['/security/users/{eve}/run_as?allow_run_as=true'],
  'DELETE /security/users': ['/security/users?user_ids={eve}'],
  'PUT /security/users/:user_id': ['/security/users/{eve}', { password: 'Other-Password-1' }],
  'DELETE /security/roles': ['/security/roles?role_ids={role}'],
  'PUT /security/roles/:role_id': ['/security/roles/{role}', { name: 'other-name' }],
  'DELETE /security/rules': ['/security/rules?rule_ids={rule}'],
  'PUT /security/rules/:rule_id': ['/security/rules/{rule}', { rule: { FIND: { department: 'other' } } }],
  'DELETE /security/policies': ['/security/policies?policy_ids={policy}'],
  'PUT /security/policies/:policy_id': [
    '/security/policies/{policy}',
    { policy: { actions: ['agent:read'], resources: ['agent:id:002'], effect: 'allow' } },
  ],
  'POST /security/users/:user_id/roles': ['/security/users/{eve}/roles?role_ids=5'],
  'DELETE /security/users/:user_id/roles': ['/security/users/{eve}/roles?role_ids={role}'],
  'POST /security/roles/:role_id/policies': ['/security/roles/{role}/policies?policy_ids=1'],
  'DELETE /security/roles/:role_id/policies': ['/security/roles/{role}/policies?policy_ids={policy}'],
  'POST /security/roles/:role_id/rules': ['/security/roles/{role}/rules?rule_ids={other}'],
  'DELETE /security/roles/:role_id/rules': ['/security/roles/{role}/rules?rule_ids={rule}'],
  'PUT /security/config': ['/security/config', { auth_token_exp_timeout: 1_200 }],
  'DELETE /security/config': ['/security/config'],
}

const READS_AFTER = 4

t.test('each write that ends tokens ends them for good, on all replicas', async (t) => {
  const ending = v4Contract
    .filter((record) => 'endsTokens' in record && record.endsTokens !== 'newUsers')
    .map(({ method, path }) => `${method} ${path}`)
  t.strictSame(Object.keys(requests).sort(), ending.sort(), 'a request for each write of the catalogue')
  const { send, logIn, write, nextSecond, simulator } = await twoReplicas(t, { tokenCacheMs: 900_000 })
  const direct = async (authorization: string) =>
    (await fetch(`${simulator.nodes[0]?.url}/agents?limit=1`, { headers: { authorization } })).status
  let good = 0
  for (const [name, [path, body]] of Object.entries(requests)) {
    const admin = await logIn('amy')
    const made = async (kind: string, fields: object): Promise<number> => {
      const { body } = await write('POST', `/security/${kind}`, admin, { body: fields })
      return (body.data as { affected_items: { id: number }[] }).affected_items[0]?.id ?? 0
    }
    const nth = Object.keys(requests).indexOf(name)
    const user = `user${nth}`
    const rule = await made('rules', { name: `rule${nth}`, rule: { FIND: { department: `d${nth}` } } })
    const other = await made('rules', { name: `other${nth}`, rule: { FIND: { department: `o${nth}` } } })
    const policy = await made('policies', {
      name: `policy${nth}`,
      policy: { actions: ['agent:read'], resources: [`agent:id:${100 + nth}`, 'agent:id:001'], effect: 'allow' },
    })
    const role = await made('roles', { name: `role${nth}` })
    const eve = await made('users', { username: user, password: 'Some-Password-1' })
    for (const link of [`roles/${role}/rules?rule_ids=${rule}`, `roles/${role}/policies?policy_ids=${policy}`])
      t.equal((await write('POST', `/security/${link}`, admin)).status, 200, link)
    t.equal((await write('POST', `/security/users/${eve}/roles?role_ids=${role}`, await logIn('amy'))).status, 200)
    nextSecond()
    const login = await send(0, '/security/user/authenticate', `Basic ${btoa(`${user}:Some-Password-1`)}`, 'POST')
    const token = `Bearer ${login.body.data?.token}`
    for (const at of [0, 1]) t.equal((await send(at, '/agents?limit=1', token)).status, 200, `${name}: before`)
    // Both processes remember the token.
    for (let nth = 0; nth < 2; nth += 1) t.equal(await direct(token), 200)
    nextSecond()
    const [method = ''] = name.split(' ')
    const values: Readonly<Record<string, number>> = { eve, role, rule, other, policy }
    const target = path.replace(/\{(\w+)\}/g, (_, key: string) => `${values[key]}`)
    const sender = name.endsWith('user/authenticate') ? token : await logIn('amy')
    const changed = await write(method, target, sender, body && { body })
    t.equal(changed.status, 200, `${name} ${JSON.stringify(changed.body)}`)
    const statuses: number[] = []
    for (let nth = 0; nth < READS_AFTER; nth += 1)
      for (const at of [1, 0]) statuses.push((await send(at, '/agents?limit=1', token)).status)
    good += statuses.filter((status) => status === 200).length
    t.same([...new Set(statuses)], [401], name)
    t.not(await Promise.all([direct(token), direct(token)]), [401, 401], 'the manager accepts the token in one process')
  }
  t.equal(good, 0, `${good} reads with an ended token`)
})

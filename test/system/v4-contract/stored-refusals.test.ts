/** A refusal by rights is stored for its scope like any answer, and dropped by every write that may change rights. */
import t from 'tap'
import { twoReplicas } from './two-replicas.ts'

const REFUSED = ['/manager/info', '/agents/002/group/is_sync', '/cluster/local/info', '/groups/default/files']
const TTL = { more: { cache: { ttl: { manager: '120s', agents: '120s', cluster: '120s' } } } }

t.test('a question that was refused is answered from the cache, to users of the same roles', async (t) => {
  const { send, logIn, simulator } = await twoReplicas(t, TTL)
  const bob = await logIn('bob')
  for (const path of REFUSED) {
    const first = await send(0, path, bob)
    t.match(first, { status: 403, body: { title: 'Permission Denied', error: 4000 } }, path)
    t.match(first.cache, /fwd=uri-miss; stored/, path)
    const calls = simulator.seen.length
    for (const replica of [0, 1, 0]) {
      const again = await send(replica, path, bob)
      t.match(again.cache, /hit/, path)
      t.match(again, { status: 403, body: first.body })
      const of = ({ headers }: typeof first, name: string) => headers.get(name)
      t.equal(of(again, 'content-type'), 'application/problem+json; charset=utf-8')
      t.equal(of(again, 'cache-control'), 'no-store')
      t.equal(of(again, 'etag'), null)
      t.match(of(again, 'age'), /^\d+$/)
    }
    t.equal(simulator.seen.length, calls, 'without a call')
    t.equal((await send(0, path, await logIn('ann'))).status, 200, `${path} for other roles`)
  }
})

t.test('only refusals by rights are stored: no error of a token, of a login, or of the data', async (t) => {
  const { send, logIn, simulator } = await twoReplicas(t, TTL)
  const ann = await logIn('ann')
  for (const [path, authorization, status] of [
    ['/agents', 'Bearer a.b.c', 401],
    ['/agents/groups/missing', ann, 404],
    ['/agents?sort=nope', ann, 400],
  ] as const) {
    for (let time = 0; time < 2; time += 1) t.match(await send(0, path, authorization), { status, cache: /^(?!.*hit)/ })
  }
  // 403 with another code: the node refuses the address.
  simulator.v4.blockAddress('master')
  for (let time = 0; time < 2; time += 1) {
    const { status, cache } = await send(0, '/manager/status', ann)
    t.not(status, 200)
    t.notMatch(cache, /hit|stored/)
  }
})

interface Ids {
  readonly user: number
  readonly role: number
  readonly policy: number
}

const CHANGES: Readonly<Record<string, (ids: Ids) => readonly [method: string, path: string]>> = {
  'another policy of the role': ({ role, policy }) => ['POST', `/security/roles/${role}/policies?policy_ids=${policy}`],
  'another role of the user': ({ user }) => ['POST', `/security/users/${user}/roles?role_ids=1`],
}

for (const [change, writeOf] of Object.entries(CHANGES)) {
  t.test(`${change} drops it on all replicas`, async (t) => {
    const { send, logIn, write, nextSecond } = await twoReplicas(t, TTL)
    const ann = await logIn('ann')
    const before = await logIn('bob')
    for (const replica of [0, 1]) t.equal((await send(replica, '/manager/info', before)).status, 403)
    const policy = { actions: ['manager:read', 'cluster:read'], resources: ['*:*:*', 'node:id:*'], effect: 'allow' }
    const created = await write('POST', '/security/policies', ann, { body: { name: 'managers', policy } })
    const user = idOf(await send(0, '/security/users?search=bob', ann))
    const role = idOf(await send(0, '/security/roles?search=bob', ann))
    nextSecond()
    const [method, path] = writeOf({ user, role, policy: idOf(created) })
    t.equal((await write(method, path, ann)).status, 200, path)
    nextSecond()
    const after = await logIn('bob')
    for (const replica of [0, 1]) t.equal((await send(replica, '/manager/info', after)).status, 200)
  })
}

function idOf({ body }: { readonly body: object }): number {
  const { data } = body as { readonly data: { readonly affected_items: readonly { readonly id: number }[] } }
  return data.affected_items[0]?.id ?? 0
}

/** What the edge does better than the bare API, and that each of it can be switched off (`cluster.guards`). */
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { type Body, twoReplicas } from './two-replicas.ts'

const without = (guard: string) => ({ more: { cluster: { guards: { [guard]: false } } } })

t.test('no user gets rules from the cache of the node', async (t) => {
  for (const isOn of [true, false]) {
    const { send, logIn } = await twoReplicas(t, isOn ? {} : without('nodeCache'))
    const [ann, nil] = [await logIn('ann'), await logIn('nil')]
    t.equal((await send(0, '/agents', nil)).status, 200)
    for (const path of ['/rules?limit=', '/rules/groups?limit=', '/rules/files?limit=']) {
      // The cache of a node lasts for 750 ms, which may be too short for two requests on busy cores.
      let limit = 1
      const seenByNil = async () => {
        limit += 1
        t.ok(((await send(0, `${path}${limit}`, ann)).body.data?.total_affected_items ?? 0) > 0)
        return (await send(0, `${path}${limit}`, nil)).body.data?.total_affected_items
      }
      if (isOn) t.equal(await seenByNil(), 0, path)
      else await eventually(async () => (await seenByNil()) !== 0)
    }
  }
})

t.test('a long search is refused without a call', async (t) => {
  const { send, logIn, simulator } = await twoReplicas(t)
  const ann = await logIn('ann')
  t.equal((await send(0, `/agents?search=${'a'.repeat(1000)}`, ann)).status, 200)
  const calls = simulator.seen.length
  for (const path of ['/agents', '/syscheck/001', '/rules']) {
    const { status, body } = await send(0, `${path}?search=${'ä'.repeat(501)}`, ann)
    t.equal(status, 400)
    t.strictSame(body, {
      title: 'Bad Request',
      detail: "Query parameter 'search' is too long. The maximum is 1000 bytes",
    })
  }
  t.equal(simulator.seen.length, calls)
})

t.test('without its guard, a long search reaches the node', async (t) => {
  const { send, logIn } = await twoReplicas(t, without('longSearch'))
  t.equal((await send(0, `/agents?search=${'a'.repeat(1001)}`, await logIn('ann'))).status, 200)
})

const WRITES = [
  ['PUT', '/agents/restart?', 'agents_list'],
  ['PUT', '/agents/group?group_id=web&', 'agents_list'],
  ['PUT', '/agents/reconnect?', 'agents_list'],
  ['PUT', '/syscheck?', 'agents_list'],
  ['PUT', '/rootcheck?', 'agents_list'],
  ['PUT', '/cluster/restart?', 'nodes_list'],
  ['DELETE', '/agents/001/group?', 'groups_list'],
] as const

t.test('an empty list of a write, which would mean all, is refused without a call', async (t) => {
  const { send, logIn, simulator } = await twoReplicas(t)
  const ann = await logIn('ann')
  t.equal((await send(0, '/agents', ann)).status, 200)
  const calls = simulator.seen.length
  for (const [method, path, name] of WRITES) {
    for (const empty of [`${name}=`, name, `${name}=&pretty=true`]) {
      const { status, body } = await send(0, `${path}${empty}`, ann, method)
      t.equal(status, 400, `${method} ${path}${empty}`)
      t.equal(body.title, 'Bad Request')
      t.equal(body.detail, `Query parameter '${name}' is empty. Leave it out if it shall not limit anything`)
    }
  }
  t.equal(simulator.seen.length, calls)
  t.equal((await send(0, '/syscheck', ann, 'PUT')).status, 200, 'without the list it means all')
  t.equal((await send(0, '/syscheck?agents_list=&agents_list=001', ann, 'PUT')).status, 200, 'the last value counts')
  t.equal((await send(0, '/agents?agents_list=', ann)).status, 200, 'a read')
})

t.test('without its guard, an empty list is left out as by the manager', async (t) => {
  const { send, logIn } = await twoReplicas(t, without('emptyLists'))
  t.equal((await send(0, '/syscheck?agents_list=', await logIn('ann'), 'PUT')).status, 200)
})

t.test('one agent that never connected does not spoil the inventory of the others', async (t) => {
  for (const isOn of [true, false]) {
    const { send, write, logIn } = await twoReplicas(t, isOn ? {} : without('agentsWithoutData'))
    const ann = await logIn('ann')
    const added = await write('POST', '/agents', ann, { body: { name: 'new-one' } })
    const id = (added.body.data as { readonly id?: string } | undefined)?.id ?? ''
    t.equal(added.status, 200)
    const { status, body } = await send(1, '/experimental/syscollector/os', ann)
    if (!isOn) {
      t.match({ status, body }, { status: 400, body: { error: 2007 } as unknown as Body })
      continue
    }
    t.equal(status, 200, JSON.stringify(body).slice(0, 200))
    const ids = (body.data as { affected_items?: { agent_id: string }[] } | undefined)?.affected_items ?? []
    t.ok(ids.length >= 5, `${ids.length} agents`)
    t.notOk(ids.some(({ agent_id }) => agent_id === id))
    t.equal((await send(0, `/experimental/syscollector/os?agents_list=001,${id}`, ann)).status, 400, 'it was named')
  }
})

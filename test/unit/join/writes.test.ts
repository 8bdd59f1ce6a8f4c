import t from 'tap'
import { EdgeError } from '../../../src/core/errors.ts'
import type { ClusterView, NodeInfo } from '../../../src/core/node-call.ts'
import type { EdgeRequest } from '../../../src/core/request.ts'
import type { EdgeResponse } from '../../../src/core/response.ts'
import { joinValidation, joinWrites } from '../../../src/join/writes.ts'
import { bodyOf, edgeRequest, fields, jsonResponse, recordOf, success } from '../../support/edge-requests.ts'

const names = ['m', 'w1', 'w2']
const nodes: readonly NodeInfo[] = names.map((name) => ({
  name,
  type: name === 'm' ? 'master' : 'worker',
  addressed: true,
}))
const view: ClusterView = {
  nodes: () => nodes,
  find: (name) => nodes.find((node) => node.name === name),
  master: () => ({ name: 'm', type: 'master', addressed: true }),
  isAvailable: () => true,
  freeSlots: () => 4,
}
const endpoints = {
  restart: recordOf('POST /agents/restart'),
  validation: recordOf('GET /cluster/:node_id/configuration/validation'),
}

type Says = Readonly<Record<string, (given: EdgeRequest) => Promise<EdgeResponse> | EdgeResponse>>

/** Nodes that say what they are told, and agents 1xx at m, 2xx at w1, 3xx at w2, 9xx nobody knows where. */
function cluster(says: Says) {
  const calls: string[] = []
  const forward = async (given: EdgeRequest) => {
    const node = given.node ?? given.params.node_id ?? ''
    calls.push(`${node} ${given.endpoint.method} ${given.endpoint.path}`)
    const say = says[node]
    if (say === undefined) throw new Error(`${node} was not to be asked`)
    return say(given)
  }
  const place = (id: string) =>
    ({ 1: 'm', 2: 'w1', 3: 'w2' })[id[0] ?? ''] ?? new EdgeError(931, ` (${id})`, { headers: { 'retry-after': '5' } })
  const owners = {
    verifiedOwners: async (ids: readonly string[]) => new Map(ids.map((id) => [id, place(id)])),
    groupMembers: async () => ({ nodes: new Map() }),
  }
  return { calls, handle: joinWrites({ forward, read: forward, view, owners, endpoints: endpoints }) }
}

const restarted = ({ body }: EdgeRequest) =>
  success({
    msg: 'All selected agents were restarted',
    affected_agents: body?.kind === 'fields' ? body.fields.ids : [],
  })
const refused = (code: number) => () => jsonResponse({ error: code, message: `refused with ${code}` })
const fails = (code: 920 | 923 | 924) => () => {
  throw new EdgeError(code, ' (it)', { headers: { 'retry-after': '7' } })
}
const restart = (...ids: string[]) => edgeRequest('POST /agents/restart', fields({ ids }))
const all = () => edgeRequest('PUT /agents/restart')
const dataOf = (given: EdgeResponse) => bodyOf(given).data

t.test('affected: whoever did not act stands in failed_ids', async (t) => {
  const { handle } = cluster({ m: restarted, w1: refused(1017), w2: fails(924) })
  const joined = await handle(restart('300', '100', '200', '900', '101'))
  t.strictSame(dataOf(joined), {
    msg: 'Some agents were not restarted',
    affected_agents: ['100', '101'],
    failed_ids: [
      { id: '300', error: { message: 'Node unreachable (it)', code: 924 } },
      { id: '200', error: { message: 'refused with 1017', code: 1017 } },
      { id: '900', error: { message: 'Owner of the agent unknown (900)', code: 931 } },
    ],
  })
  t.match(joined, {
    clusterStatus: /^m;rtt=\d+;rows=2, w1;error=\w+;received-status=200;detail="?1017"?, w2;error=\w+$/,
  })
  t.equal('unfinished' in joined, false, 'all of it is known')
})

t.test('affected: an agent of which its owner says nothing was not reached', async (t) => {
  const { handle } = cluster({
    m: restarted,
    w1: () => success({ msg: 'All selected agents were restarted', affected_agents: ['200'] }),
  })
  t.match(dataOf(await handle(restart('100', '200', '201'))), {
    msg: 'Some agents were not restarted',
    affected_agents: ['100', '200'],
    failed_ids: [{ id: '201', error: { code: 925 } }],
  })
})

t.test('affected: what a node says of the agents of others does not count', async (t) => {
  const { handle } = cluster({
    w1: () => success({ affected_agents: ['200', '300', '999'], failed_ids: [{ id: '301', error: { code: 1707 } }] }),
    w2: ({ body }) => {
      const [first, ...others] = body?.kind === 'fields' ? (body.fields.ids as string[]) : []
      return success({ affected_agents: others, failed_ids: [{ id: first, error: { code: 1703 } }] })
    },
  })
  t.match(dataOf(await handle(restart('200', '300', '301'))), {
    affected_agents: ['200', '301'],
    failed_ids: [{ id: '300', error: { code: 1703 } }],
  })
})

t.test('affected: what a node says it failed of was not done', async (t) => {
  const both = { affected_agents: ['200'], failed_ids: [{ id: '200', error: { code: 1707 } }] }
  const { handle } = cluster({ w1: () => success(both) })
  t.match(dataOf(await handle(restart('200'))), { affected_agents: [], failed_ids: [{ id: '200' }] })
})

t.test('affected: an agent that is named twice is told once, and of none the master speaks', async (t) => {
  const told: unknown[] = []
  const telling = (given: EdgeRequest) => {
    told.push(given.body)
    return restarted(given)
  }
  const { handle } = cluster({ m: refused(1732), w1: telling })
  t.strictSame(dataOf(await handle(restart('200', '200', '201', '200'))), {
    msg: 'All selected agents were restarted',
    affected_agents: ['200', '201'],
  })
  t.strictSame(told, [{ kind: 'fields', fields: { ids: ['200', '201'] } }])
  t.match(bodyOf(await handle(restart())), { error: 1732 })
})

t.test('affected: a node that may be at it still leaves the outcome open', async (t) => {
  for (const say of [refused(3021), fails(923)]) {
    const { handle } = cluster({ m: restarted, w1: say })
    t.match(await handle(restart('100', '200')), { outcomeUnknown: true })
  }
})

t.test('affected: no owner acted', async (t) => {
  const same = cluster({ m: refused(1017), w1: refused(1017) })
  t.match(bodyOf(await same.handle(restart('100', '200'))), { error: 1017, message: 'refused with 1017' })
  const differing = cluster({ m: refused(1017), w1: refused(1010) })
  t.match(bodyOf(await differing.handle(restart('100', '200'))), { error: 1017, message: 'refused with 1017 (m)' })
  const open = cluster({ m: fails(924), w1: fails(923) })
  await t.rejects(
    async () => open.handle(restart('100', '200')),
    { code: 923 },
    'what may have happened goes before what did not',
  )
  const nobody = cluster({})
  await t.rejects(async () => nobody.handle(restart('900', '901')), { code: 931, headers: { 'retry-after': '5' } })
  t.strictSame(nobody.calls, [])
})

t.test('message: one text for all, or who did and who did not', async (t) => {
  const done = () => success('Restarting all agents')
  const whole = cluster({ m: done, w1: done, w2: () => success('another text') })
  t.match(bodyOf(await whole.handle(all())), { error: 0, data: 'Restarting all agents' })
  t.strictSame(
    whole.calls,
    names.map((name) => `${name} PUT /agents/restart`),
  )
  const partly = cluster({ m: done, w1: refused(1017), w2: fails(920) })
  await t.rejects(async () => partly.handle(all()), {
    code: 932,
    message: /\(carried out on m; not on w1: 1017 refused with 1017; w2: 920 No node available \(it\)\)/,
    headers: { 'cluster-status': /^m;rtt=\d+, w1;error/ },
  })
  for (const say of [fails(923), refused(3020), () => Promise.reject(new TypeError('unforeseen'))]) {
    const open = cluster({ m: done, w1: done, w2: say })
    await t.rejects(async () => open.handle(all()), { code: 933, message: /carried out on m, w1; not on w2/ })
  }
  const none = cluster({ m: fails(924), w1: fails(924), w2: fails(924) })
  await t.rejects(async () => none.handle(all()), { code: 924, headers: { 'retry-after': '7' } })
})

t.test('verdict: KO of one is KO of all, and silence of one is no verdict', async (t) => {
  const ok = () => success({ status: 'OK' })
  const ko =
    (...details: string[]) =>
    () =>
      success({ status: 'KO', details })
  const check = () => edgeRequest('GET /cluster/configuration/validation')
  t.strictSame(dataOf(await cluster({ m: ok, w1: ok, w2: ok }).handle(check())), { status: 'OK' })
  const bad = await cluster({ m: ko('a', 'b'), w1: ok, w2: ko('b', 'c') }).handle(check())
  t.strictSame(dataOf(bad), { status: 'KO', details: ['a', 'b', 'c'] })
  t.match(bad, { clusterStatus: /^m;rtt=\d+;detail=KO, w1;rtt=\d+;detail=OK, w2;rtt=\d+;detail=KO$/ })
  t.match(dataOf(await cluster({ m: ok, w1: ok, w2: () => success({}) }).handle(check())), { status: 'KO' })
  t.match(bodyOf(await cluster({ m: ok, w1: refused(1017), w2: ok }).handle(check())), {
    error: 1017,
    message: 'refused with 1017 (w1)',
  })
  await t.rejects(async () => cluster({ m: ok, w1: ok, w2: fails(924) }).handle(check()), { code: 924 })
  const same = cluster({ m: refused(1017), w1: refused(1017), w2: refused(1017) })
  t.match(bodyOf(await same.handle(check())), { error: 1017, message: 'refused with 1017' })
})

t.test('where the cluster distributes by itself, only the verdict is asked of each node', async (t) => {
  const calls: string[] = []
  const heard = (by: string) => async (given: EdgeRequest) => {
    calls.push(`${by} ${given.endpoint.path}`)
    return success({ status: 'OK' })
  }
  const ports = { forward: heard('master'), read: heard('each'), endpoints }
  const handle = joinValidation({ ...ports, view })
  await handle(all())
  await handle(edgeRequest('GET /cluster/configuration/validation'))
  const alone = joinValidation({ ...ports, view: { ...view, nodes: () => nodes.slice(0, 1) } })
  await alone(edgeRequest('GET /cluster/configuration/validation'))
  const each = 'each /cluster/:node_id/configuration/validation'
  t.strictSame(calls, ['master /agents/restart', each, each, each, 'master /cluster/configuration/validation'])
})

import t from 'tap'
import { EdgeError } from '../../../src/core/errors.ts'
import { envelopeOfStored, partsOf } from '../../../src/core/origins.ts'
import { type EdgeRequest, fieldsOf, onlyNodeOf } from '../../../src/core/request.ts'
import type { EdgeResponse } from '../../../src/core/response.ts'
import { joinValidations, joinVerdicts, joinWrites } from '../../../src/join/join-results.ts'
import { bodyOf, edgeRequest, fields, jsonResponse, success } from '../../support/edge-requests.ts'
import { storedResponse } from '../../support/stored-response.ts'
import { endpoints, isDistributing, names, view, viewOf } from './three-nodes.ts'

type Responses = Readonly<Record<string, (given: EdgeRequest) => Promise<EdgeResponse> | EdgeResponse>>

/** Nodes with set responses. Agents 1xx report to m, 2xx to w1, 3xx to w2; the owner of 9xx is unknown. */
function cluster(responses: Responses) {
  const calls: string[] = []
  const forward = async (given: EdgeRequest) => {
    const node = onlyNodeOf(given) ?? given.params.node_id ?? ''
    calls.push(`${node} ${given.endpoint.method} ${given.endpoint.path}`)
    const respond = responses[node]
    if (respond === undefined) throw new Error(`${node} must not be called`)
    return respond(given)
  }
  const ownerOf = (id: string) =>
    ({ 1: 'm', 2: 'w1', 3: 'w2' })[id[0] ?? ''] ?? new EdgeError(931, ` (${id})`, { headers: { 'retry-after': '5' } })
  const owners = {
    verifiedOwners: async (ids: readonly string[]) => new Map(ids.map((id) => [id, ownerOf(id)])),
    groupMembers: async () => ({ nodes: new Map() }),
  }
  const ports = { forward, read: forward, view, owners, isDistributing, endpoints }
  return { calls, handle: joinWrites(ports), check: joinVerdicts(ports) }
}

const restarted = (given: EdgeRequest) =>
  success({ msg: 'All selected agents were restarted', affected_agents: fieldsOf(given).ids })
const refused = (code: number) => () => jsonResponse({ error: code, message: `refused with ${code}` })
const fails = (code: 920 | 923 | 924) => () => {
  throw new EdgeError(code, ' (it)', { headers: { 'retry-after': '7' } })
}
const restart = (...ids: string[]) => edgeRequest('POST /agents/restart', fields({ ids }))
const all = () => edgeRequest('PUT /agents/restart')
const validation = () => edgeRequest('GET /cluster/configuration/validation')
const dataOf = (given: EdgeResponse) => bodyOf(given).data

t.test('affected: agents whose owner did not act are in failed_ids', async (t) => {
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
    origin: {
      clusterStatus: /^m;rtt=\d+;rows=2, w1;error=\w+;received-status=200;detail="?1017"?, w2;error=\w+$/,
      isUnfinished: false,
    },
  })
})

t.test('affected: an unexpected error names the node whose call it ended', async (t) => {
  const ends = () => {
    throw new TypeError('not foreseen')
  }
  const { handle } = cluster({ m: restarted, w1: ends })
  t.match(dataOf(await handle(restart('100', '200'))), {
    affected_agents: ['100'],
    failed_ids: [{ id: '200', error: { message: 'Internal error (w1)', code: 949 } }],
  })
  await t.rejects(async () => handle(restart('200')), { code: 949, message: 'Internal error (w1)' })
})

t.test('affected: an agent that its owner does not mention is in failed_ids', async (t) => {
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

t.test('affected: a node counts for its own agents only', async (t) => {
  const { handle } = cluster({
    w1: () => success({ affected_agents: ['200', '300', '999'], failed_ids: [{ id: '301', error: { code: 1707 } }] }),
    w2: (given) => {
      const [first, ...others] = fieldsOf(given).ids as string[]
      return success({ affected_agents: others, failed_ids: [{ id: first, error: { code: 1703 } }] })
    },
  })
  t.match(dataOf(await handle(restart('200', '300', '301'))), {
    affected_agents: ['200', '301'],
    failed_ids: [{ id: '300', error: { code: 1703 } }],
  })
})

t.test('affected: an agent that is listed as affected and as failed is failed', async (t) => {
  const both = { affected_agents: ['200'], failed_ids: [{ id: '200', error: { code: 1707 } }] }
  const { handle } = cluster({ w1: () => success(both) })
  t.match(dataOf(await handle(restart('200'))), { affected_agents: [], failed_ids: [{ id: '200' }] })
})

t.test('affected: an agent that is requested twice is restarted once', async (t) => {
  const bodies: unknown[] = []
  const recording = (given: EdgeRequest) => {
    bodies.push(fieldsOf(given))
    return restarted(given)
  }
  const { handle } = cluster({ w1: recording })
  t.strictSame(dataOf(await handle(restart('200', '200', '201', '200'))), {
    msg: 'All selected agents were restarted',
    affected_agents: ['200', '201'],
  })
  t.strictSame(bodies, [{ ids: ['200', '201'] }])
})

t.test('affected: a node that may still be acting makes the outcome unknown', async (t) => {
  for (const respond of [refused(3021), fails(923)]) {
    const { handle } = cluster({ m: restarted, w1: respond })
    t.match(await handle(restart('100', '200')), { origin: { isUnfinished: true } })
  }
})

t.test(
  'affected: if no owner acted, the response is the common error or the error of one owner with its name',
  async (t) => {
    const same = cluster({ m: refused(1017), w1: refused(1017) })
    t.match(bodyOf(await same.handle(restart('100', '200'))), { error: 1017, message: 'refused with 1017' })
    const differing = cluster({ m: refused(1017), w1: refused(1010) })
    t.match(bodyOf(await differing.handle(restart('100', '200'))), { error: 1017, message: 'refused with 1017 (m)' })
    const open = cluster({ m: fails(924), w1: fails(923) })
    await t.rejects(
      async () => open.handle(restart('100', '200')),
      { code: 923 },
      'an unknown outcome takes precedence over a failure',
    )
    const none = cluster({})
    await t.rejects(async () => none.handle(restart('900', '901')), { code: 931, headers: { 'retry-after': '5' } })
    t.strictSame(none.calls, [])
  },
)

t.test('message: one message for all nodes, or an error that names the nodes that did and did not act', async (t) => {
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
  for (const respond of [fails(923), refused(3020), () => Promise.reject(new TypeError('unforeseen'))]) {
    const open = cluster({ m: done, w1: done, w2: respond })
    await t.rejects(async () => open.handle(all()), { code: 933, message: /carried out on m, w1; not on w2/ })
  }
  const none = cluster({ m: fails(924), w1: fails(924), w2: fails(924) })
  await t.rejects(async () => none.handle(all()), { code: 924, headers: { 'retry-after': '7' } })
})

t.test('verdict: KO of one node is KO of all, and without all verdicts there is an error', async (t) => {
  const ok = () => success({ status: 'OK' })
  const ko =
    (...details: string[]) =>
    () =>
      success({ status: 'KO', details })
  t.strictSame(dataOf(await cluster({ m: ok, w1: ok, w2: ok }).check(validation())), { status: 'OK' })
  const bad = await cluster({ m: ko('a', 'b'), w1: ok, w2: ko('b', 'c') }).check(validation())
  t.strictSame(dataOf(bad), { status: 'KO', details: ['a', 'b', 'c'] })
  t.match(bad, { origin: { clusterStatus: /^m;rtt=\d+;detail=KO, w1;rtt=\d+;detail=OK, w2;rtt=\d+;detail=KO$/ } })
  t.match(dataOf(await cluster({ m: ok, w1: ok, w2: () => success({}) }).check(validation())), { status: 'KO' })
  t.match(bodyOf(await cluster({ m: ok, w1: refused(1017), w2: ok }).check(validation())), {
    error: 1017,
    message: 'refused with 1017 (w1)',
  })
  await t.rejects(async () => cluster({ m: ok, w1: ok, w2: fails(924) }).check(validation()), { code: 924 })
  const same = cluster({ m: refused(1017), w1: refused(1017), w2: refused(1017) })
  t.match(bodyOf(await same.check(validation())), { error: 1017, message: 'refused with 1017' })
})

t.test('in distribution mode manager, only a validation is sent to each node', async (t) => {
  const calls: string[] = []
  const record = (by: string) => async (given: EdgeRequest) => {
    calls.push(`${by} ${given.endpoint.path}`)
    return success({ status: 'OK' })
  }
  const ports = { forward: record('master'), read: record('each'), endpoints }
  await joinValidations({ ...ports, view })(validation())
  await joinValidations({ ...ports, view: viewOf(['m']) })(validation())
  const each = 'each /cluster/:node_id/configuration/validation'
  const master = 'master /cluster/configuration/validation'
  t.strictSame(calls, [each, each, each, master])
})

function partsIn(response: EdgeResponse) {
  if (response.kind === 'file') throw new Error('the response is a file')
  return partsOf(response.origin)
}

/** A node whose response is stored since this number of milliseconds. */
const agedBy = (age: number) => (): EdgeResponse => {
  const response = storedResponse('{"error":0,"data":{"status":"OK"}}', { ttl: 750 })
  return envelopeOfStored({ kind: 'stored', response, age, status: { hit: true } })
}

t.test('verdict: it is as old as the oldest response that it is joined from', async (t) => {
  const { check } = cluster({ m: agedBy(0), w1: agedBy(600), w2: agedBy(200) })
  const joined = await check(validation())
  const { oldestPartAge } = partsIn(joined)
  t.ok(oldestPartAge > 500 && oldestPartAge <= 600, `${oldestPartAge} ms`)
})

t.test('verdict: it is fresh no longer than the response that expires first', async (t) => {
  const freshFor = async (...ages: readonly [number, number]) => {
    const { check } = cluster({ m: agedBy(0), w1: agedBy(ages[0]), w2: agedBy(ages[1]) })
    const joined = await check(validation())
    return partsIn(joined).partsFreshFor
  }
  const left = await freshFor(500, 200)
  t.ok(left > 0 && left <= 250, `${left} ms`)
  const overdue = await freshFor(800, 200)
  t.ok(overdue <= -50, `${overdue} ms`)
})

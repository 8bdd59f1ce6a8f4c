import t from 'tap'
import { EdgeError } from '../../../src/core/errors.ts'
import type { EdgeResponse } from '../../../src/core/response.ts'
import {
  bodyOf,
  cacheStatusOf,
  caller,
  createLatch,
  edgeRequest,
  jsonResponse,
  replica,
  settle,
  success,
} from '../../support/edge-requests.ts'

const one = (id = '001') => edgeRequest('GET /agents/:agent_id', { params: { agent_id: id } })
const datas = (answers: readonly EdgeResponse[]) => answers.map((given) => bodyOf(given).data)

t.test('what is kept is answered without a node, until its time is over', async (t) => {
  const { read, nodes, clock } = replica()
  const first = await read(one())
  t.match(cacheStatusOf(first), { fwd: 'uri-miss', stored: true, ttl: 1000 })
  clock.advance(400)
  const second = await read(one())
  t.strictSame(cacheStatusOf(second), { hit: true, ttl: 600 })
  t.equal(bodyOf(second).data, 1)
  t.match(second.kind === 'json' && second.cached?.response, { etag: /^"[\w-]{27}"$/, age: 400, ttl: 1000 })
  t.equal(bodyOf(await read(one('002'))).data, 2, 'another agent is another entry')
  clock.advance(70_000)
  t.match(cacheStatusOf(await read(one())), { fwd: 'uri-miss', stored: true })
  t.equal(nodes.calls, 3)
})

t.test('1,000 equal misses are one call', async (t) => {
  const { read, nodes } = replica()
  const { opened, open } = createLatch()
  nodes.respond = async (_, call) => {
    await opened
    return success(call)
  }
  const all = Array.from({ length: 1000 }, () => read(one()))
  await settle()
  open()
  const answers = await Promise.all(all)
  t.equal(nodes.calls, 1)
  t.ok(datas(answers).every((data) => data === 1))
  t.equal(answers.filter((given) => cacheStatusOf(given)?.stored).length, 1)
  t.equal(answers.filter((given) => cacheStatusOf(given)?.collapsed).length, 999)
})

t.test('a failed call fails all who waited for it, and nobody else', async (t) => {
  const { read, nodes } = replica()
  nodes.respond = async (_, call) => {
    await settle()
    if (call === 1) throw new EdgeError(924)
    return success(call)
  }
  const all = await Promise.allSettled([read(one()), read(one()), read(one())])
  t.ok(all.every((outcome) => outcome.status === 'rejected' && outcome.reason.code === 924))
  t.equal(bodyOf(await read(one())).data, 2)
})

t.test('callers who leave do not take others with them', async (t) => {
  const { read, nodes } = replica()
  const { opened, open } = createLatch()
  nodes.respond = async (_, call) => {
    await opened
    return success(call)
  }
  const leaving = new AbortController()
  const gone = read({ ...one(), signal: leaving.signal })
  const stays = read(one())
  await settle()
  leaving.abort(new Error('left'))
  await t.rejects(async () => gone, { message: 'left' })
  t.notOk(nodes.requests[0]?.signal.aborted, 'the node is still asked')
  open()
  t.equal(bodyOf(await stays).data, 1)

  const all = new AbortController()
  const { opened: again, open: openAgain } = createLatch()
  nodes.respond = async () => {
    await again
    return success('kept')
  }
  const alone = read({ ...one('002'), signal: all.signal })
  await settle()
  all.abort(new Error('left'))
  await t.rejects(async () => alone)
  t.notOk(nodes.requests.at(-1)?.signal.aborted, 'what will be kept is fetched to its end')
  openAgain()
  await settle()
  t.match(cacheStatusOf(await read(one('002'))), { hit: true })

  const unlimited = new AbortController()
  nodes.respond = async (given) => {
    await new Promise((_, reject) => given.signal.addEventListener('abort', () => reject(given.signal.reason)))
    return success('never')
  }
  const endless = read({ ...one('003'), waitForComplete: true, signal: unlimited.signal })
  await settle()
  unlimited.abort(new Error('left'))
  await t.rejects(async () => endless)
  t.ok(nodes.requests.at(-1)?.signal.aborted, 'a call without a limit ends with its last caller')
})

t.test('who waits without a limit is not mixed with who does not', async (t) => {
  const { read, nodes } = replica()
  const { opened, open } = createLatch()
  nodes.respond = async (_, call) => {
    await opened
    return success(call)
  }
  const all = [read(one()), read({ ...one(), waitForComplete: true })]
  await settle()
  open()
  await Promise.all(all)
  t.strictSame(nodes.requests.map(({ waitForComplete }) => waitForComplete).sort(), [false, true])
})

t.test('credentials of one caller fetch nothing for another', async (t) => {
  const { read, nodes } = replica()
  nodes.respond = async (given) => {
    await settle()
    if (given.caller.name === 'mallory') throw new EdgeError(901)
    return success('right')
  }
  const as = (name: string) =>
    read({ ...one(), caller: { ...caller, name, credentials: { username: name, password: 'p' } } })
  const [bad, fine] = await Promise.allSettled([as('mallory'), as('alice')])
  t.match(bad, { status: 'rejected', reason: { code: 901 } })
  t.equal(fine?.status, 'fulfilled')
})

t.test('what is stale is served while it is fetched anew, once', async (t) => {
  const { read, nodes, clock } = replica()
  await read(one())
  clock.advance(1500)
  const stale = await Promise.all([read(one()), read(one()), read(one())])
  t.ok(datas(stale).every((data) => data === 1))
  t.match(cacheStatusOf(stale[0] as EdgeResponse), { hit: true, ttl: -500, detail: 'stale-while-revalidate' })
  await settle()
  t.equal(nodes.calls, 2)
  t.equal(bodyOf(await read(one())).data, 2)
  clock.advance(2500)
  t.match(cacheStatusOf(await read(one())), { fwd: 'stale', stored: true }, 'beyond the window it is waited for')
  t.equal(nodes.calls, 3)
})

t.test('when nodes fail, what is kept stands in within its bound', async (t) => {
  const { read, nodes, clock } = replica()
  await read(one())
  nodes.respond = () => {
    throw new EdgeError(920)
  }
  clock.advance(30_000)
  const stale = await read(one())
  t.equal(bodyOf(stale).data, 1)
  t.match(cacheStatusOf(stale), { fwd: 'stale', detail: 'stale-if-error', ttl: -29_000 })
  const calls = nodes.calls
  t.match(cacheStatusOf(await read(one())), { hit: true, detail: 'stale-if-error' })
  t.equal(nodes.calls, calls, 'for a moment nobody asks again')
  clock.advance(1000)
  nodes.respond = () => jsonResponse({ error: 3012, message: 'cluster is not running' })
  t.equal(bodyOf(await read(one())).data, 1, 'also for what the framework cannot do now')
  t.equal(nodes.calls, calls + 1)
  clock.advance(1000)
  nodes.respond = () => jsonResponse({ error: 1701, message: 'Agent does not exist' })
  t.equal(bodyOf(await read(one())).error, 1701, 'not for what it knows')
  nodes.respond = () => {
    throw new EdgeError(903)
  }
  await t.rejects(async () => read(one()), { code: 903 }, 'not for what is the caller’s own')
  nodes.respond = () => {
    throw new EdgeError(920)
  }
  clock.advance(31_000)
  await t.rejects(async () => read(one()), { code: 920 }, 'not beyond the bound')
})

t.test('a fetch behind a stale answer that fails is not tried again at once', async (t) => {
  const { read, nodes, clock } = replica()
  await read(one())
  nodes.respond = () => {
    throw new EdgeError(920)
  }
  clock.advance(1100)
  for (let time = 0; time < 10; time += 1) {
    t.match(cacheStatusOf(await read(one())), { hit: true, detail: 'stale-while-revalidate' })
    await settle()
  }
  t.equal(nodes.calls, 2)
})

t.test('a write while nodes fail leaves nothing to stand in', async (t) => {
  const { read, nodes, clock, store } = replica()
  await read(one())
  clock.advance(5000)
  nodes.respond = async () => {
    await (await store.fence(['agent:001'])).lift([])
    throw new EdgeError(922)
  }
  await t.rejects(async () => read(one()), { code: 922 })
})

t.test('only whole and good answers are kept', async (t) => {
  const { read, nodes } = replica()
  const kept = async (given: EdgeResponse): Promise<boolean> => {
    const before = nodes.calls
    nodes.respond = () => given
    const agent = one(String(100 + before))
    t.equal(cacheStatusOf(await read(agent))?.stored ?? false, cacheStatusOf(await read(agent))?.hit ?? false)
    return nodes.calls === before + 1
  }
  t.ok(await kept(success({ id: '001' })))
  t.ok(await kept(success('a text with \\"failed_nodes\\" in it')))
  t.notOk(await kept(jsonResponse({ error: 1701, message: 'Agent does not exist' })))
  t.notOk(await kept(jsonResponse({ error: 0, message: 'no' }, 500)))
  t.notOk(await kept(success({ items: [], totalItems: 0, failed_nodes: [{ node: 'w' }] })), 'some nodes failed')
  t.ok(await kept(jsonResponse({ data: 1, error: 0 })), 'in whatever order the node writes')
})

t.test('what is never kept goes straight through', async (t) => {
  const { read, nodes } = replica()
  const never = () => edgeRequest('GET /agents/:agent_id/key', { params: { agent_id: '001' } })
  const all = await Promise.all([read(never()), read(never())])
  t.equal(nodes.calls, 2)
  t.equal(cacheStatusOf(all[0] as EdgeResponse), undefined)
})

t.test('callers who may purge can ask for a new answer, or that none is kept', async (t) => {
  const { read, nodes } = replica()
  await read(one())
  t.match(cacheStatusOf(await read({ ...one(), directives: { noCache: true, noStore: false } })), {
    fwd: 'request',
    stored: true,
  })
  t.equal(bodyOf(await read(one())).data, 2, 'the new one is kept')
  t.equal(bodyOf(await read({ ...one(), directives: { noCache: false, noStore: true } })).data, 3)
  t.equal(bodyOf(await read(one())).data, 2)
  t.equal(nodes.calls, 3)
})

t.test('hot answers are fetched ahead of their end, when nodes have room', async (t) => {
  let room = false
  const { read, nodes, clock } = replica({
    hasIdleCapacity: () => room,
    refreshAhead: { maxConcurrent: 1, minHits: 3 },
  })
  await Promise.all([read(one()), read(one('002'))])
  clock.advance(600)
  for (let hit = 0; hit < 3; hit += 1) await read(one())
  clock.advance(250)
  await read(one())
  await settle()
  t.equal(nodes.calls, 2, 'no room')
  room = true
  await read(one('002'))
  await settle()
  t.equal(nodes.calls, 2, 'not hot')
  t.match(cacheStatusOf(await read(one())), { hit: true, ttl: 150 })
  await settle()
  t.equal(nodes.calls, 3)
  t.match(cacheStatusOf(await read(one())), { hit: true, ttl: 1000 })
})

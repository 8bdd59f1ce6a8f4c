import t from 'tap'
import type { CacheOptions } from '../../../src/cache/index.ts'
import type { WriteFence } from '../../../src/cache/stores/contract.ts'
import { createMemoryStore } from '../../../src/cache/stores/memory-store.ts'
import { EdgeError } from '../../../src/core/errors.ts'
import {
  bodyOf,
  cacheStatusOf,
  createLatch,
  edgeRequest,
  fields,
  jsonResponse,
  replica,
  settle,
  success,
} from '../../support/edge-requests.ts'

type Store = CacheOptions['store']

const unavailable: Pick<Store, 'lookup' | 'lookupLocal' | 'peek'> = {
  lookupLocal: () => undefined,
  lookup: async () => ({ kind: 'unavailable' }),
  peek: async () => ({ kind: 'unavailable' }),
}

const one = (id = '001') => edgeRequest('GET /agents/:agent_id', { params: { agent_id: id } })
const rules = () => edgeRequest('GET /rules')
const assign = (id = '001') =>
  edgeRequest('PUT /agents/:agent_id/group/:group_id', { params: { agent_id: id, group_id: 'web' } })
const uploadRule = () => edgeRequest('POST /manager/files', { query: { path: 'etc/rules/local_rules.xml' } })

t.test('after the response of a write, the data that it touched is fetched again, and no other data', async (t) => {
  const { read, write, nodes } = replica()
  await Promise.all([read(one()), read(one('002')), read(rules()), read(edgeRequest('GET /agents'))])
  await write(assign())
  t.match(cacheStatusOf(await read(one())), { fwd: 'uri-miss' })
  t.match(cacheStatusOf(await read(edgeRequest('GET /agents'))), { fwd: 'uri-miss' })
  t.match(cacheStatusOf(await read(one('002'))), { hit: true })
  t.match(cacheStatusOf(await read(rules())), { hit: true })
  t.equal(nodes.calls, 7)
})

t.test('during a write, its data is not stored, and reads share no call from before the write', async (t) => {
  const { read, write, nodes } = replica()
  const [writing, reading] = [createLatch(), createLatch()]
  let value = 'old'
  nodes.respond = async ({ endpoint }) => {
    if (endpoint.method === 'GET') {
      const seen = value
      await reading.opened
      return success(seen)
    }
    value = 'new'
    await writing.opened
    return success('done')
  }
  const written = write(assign())
  await settle()
  value = 'old'
  const before = read(one())
  await settle()
  value = 'new'
  const after = [read(one()), read(one()), read(one())]
  await settle()
  reading.open()
  t.equal(bodyOf(await before).data, 'old')
  for (const response of await Promise.all(after)) {
    t.equal(bodyOf(response).data, 'new', 'from a call that started after the write')
    t.equal(cacheStatusOf(response), undefined, 'not stored')
  }
  t.equal(nodes.calls, 3, 'the write, the earlier call and one more')
  writing.open()
  await written
  t.match(cacheStatusOf(await read(one())), { fwd: 'uri-miss', stored: true })
})

t.test('a response that was fetched before a write is returned, but never served from the cache', async (t) => {
  const { read, write, nodes } = replica()
  const { opened, open } = createLatch()
  nodes.respond = async ({ endpoint }, call) => {
    if (call === 1) await opened
    return success(endpoint.method)
  }
  const slow = read(one())
  await settle()
  await write(assign())
  const fresh = read(one())
  await settle()
  t.equal(nodes.calls, 3, 'the call from before the write is not shared')
  open()
  await slow
  t.match(cacheStatusOf(await fresh), { stored: true })
  t.match(cacheStatusOf(await read(one())), { hit: true })
})

t.test('the response of a write names further data that it touched', async (t) => {
  const { read, write, nodes } = replica()
  const removal = () => edgeRequest('DELETE /agents/groups/:group_id', { params: { group_id: 'web' } })
  await Promise.all([read(one()), read(one('002'))])
  nodes.respond = () => success({ msg: 'All selected groups were removed', ids: ['web'], affected_agents: ['002'] })
  await write(removal())
  t.match(cacheStatusOf(await read(one())), { hit: true })
  t.match(cacheStatusOf(await read(one('002'))), { fwd: 'uri-miss' })
  nodes.respond = () => success({ msg: 'no names' })
  await write(removal())
  t.match(cacheStatusOf(await read(one())), { fwd: 'uri-miss' }, 'without names, it may be any agent')
})

t.test(
  'a write with an unknown outcome keeps its fence, also around all data that its response might have named',
  async (t) => {
    for (const fault of [new EdgeError(923), new EdgeError(928), new EdgeError(925), new Error('unexpected')]) {
      const { read, write, nodes, clock } = replica()
      const addAgent = () => edgeRequest('POST /agents', fields({ name: 'new' }))
      await read(one())
      nodes.respond = ({ endpoint }) => {
        if (endpoint.method !== 'GET') throw fault
        return success('read')
      }
      await t.rejects(async () => write(addAgent()), fault)
      t.equal(cacheStatusOf(await read(edgeRequest('GET /agents'))), undefined, 'not stored')
      t.equal(cacheStatusOf(await read(one())), undefined, 'nor what the response might have named')
      t.match(cacheStatusOf(await read(rules())), { stored: true })
      clock.advance(241_000)
      t.match(cacheStatusOf(await read(one())), { stored: true }, 'stored again after the lease')
    }
  },
)

t.test('a write that the manager did not finish in time keeps its fence', async (t) => {
  const { read, write, nodes } = replica()
  nodes.respond = () => jsonResponse({ error: 3021, message: 'Timeout executing API request' })
  t.equal(bodyOf(await write(assign())).error, 3021)
  nodes.respond = () => success('read')
  t.equal(cacheStatusOf(await read(one())), undefined)
})

t.test('a write that was certainly not carried out lifts its fence at once', async (t) => {
  for (const code of [920, 921, 924, 927] as const) {
    const { read, write, nodes } = replica()
    nodes.respond = ({ endpoint }) => {
      if (endpoint.method !== 'GET') throw new EdgeError(code)
      return success('read')
    }
    await t.rejects(async () => write(assign()), { code })
    t.match(cacheStatusOf(await read(one())), { stored: true })
  }
})

t.test('a write continues if its client disconnects, and does not start after that', async (t) => {
  const { read, write, nodes } = replica()
  await read(one())
  const { opened, open } = createLatch()
  nodes.respond = async () => {
    await opened
    return success('done')
  }
  const leaving = new AbortController()
  const written = write({ ...assign(), client: leaving })
  await settle()
  leaving.abort(new Error('left'))
  t.notOk(nodes.requests.at(-1)?.client.signal.aborted)
  open()
  t.equal(bodyOf(await written).data, 'done')
  t.match(cacheStatusOf(await read(one())), { fwd: 'uri-miss', stored: true })
  const calls = nodes.calls
  await t.rejects(async () => write({ ...assign(), client: leaving }), { message: 'left' })
  t.equal(nodes.calls, calls)
  t.match(cacheStatusOf(await read(one())), { fwd: 'uri-miss', stored: true }, 'no fence is left')
})

t.test('the response of a write waits until no replica can serve older data', async (t) => {
  const { opened, open } = createLatch()
  const steps: string[] = []
  const fence: WriteFence = {
    state: 'localOnly',
    keepUntilLeaseEnds: () => steps.push('keep'),
    lift: async (more) => {
      steps.push(`lift ${more.join()}`)
      await opened
      return true
    },
  }
  const store: Store = {
    ...unavailable,
    store: async () => {},
    acquireFetchLock: async () => ({ held: true, release: async () => {} }),
    fence: async (tags) => {
      steps.push(`fence ${tags.join()}`)
      return fence
    },
  }
  const { write, nodes } = replica({ store })
  nodes.respond = () => {
    steps.push('forward')
    return success({ id: '005', key: 'k' })
  }
  let answered = false
  const written = Promise.resolve(write(edgeRequest('POST /agents', fields({ name: 'new' })))).then(() => {
    answered = true
  })
  await settle()
  t.strictSame(steps, ['fence collection:agents,collection:groups', 'forward', 'lift agent:005'])
  t.notOk(answered)
  open()
  await written
})

t.test('if the cache cannot be invalidated, the write is rejected and not sent', async (t) => {
  const fence: WriteFence = { state: 'refused', lift: async () => true, keepUntilLeaseEnds: () => {} }
  const store: Store = {
    ...unavailable,
    store: async () => {},
    acquireFetchLock: async () => ({ held: true, release: async () => {} }),
    fence: async () => fence,
  }
  const { write, nodes } = replica({ store })
  await t.rejects(async () => write(assign()), { code: 930, status: 503, headers: { 'retry-after': /^\d+$/ } })
  t.equal(nodes.calls, 0)
  const command = edgeRequest('PUT /active-response/:agent_id', {
    params: { agent_id: '001' },
    ...fields({ command: 'x' }),
  })
  t.ok(await write(command), 'a write that touches no cached data is sent')
})

t.test('a write whose end the store does not confirm is never answered as if all were well', async (t) => {
  const limits: number[] = []
  const store: Store = {
    ...unavailable,
    store: async () => {},
    acquireFetchLock: async () => ({ held: true, release: async () => {} }),
    fence: async (_, ms) => {
      limits.push(ms ?? 0)
      return {
        state: 'active',
        lift: async (_, wait) => {
          limits.push(wait ?? 0)
          return false
        },
        keepUntilLeaseEnds: () => {},
      }
    },
  }
  const { write, nodes, clock } = replica({ store })
  nodes.respond = () => {
    clock.advance(limits.length === 1 ? 8000 : 19_000)
    return success('done')
  }
  const unconfirmed = {
    code: 943,
    status: 504,
    message: /carried out.*Do not repeat it blindly.*until the write fence/,
  }
  await t.rejects(async () => write(assign()), unconfirmed)
  await t.rejects(async () => write(assign()), unconfirmed)
  t.strictSame(
    limits,
    [20_000, 12_000, 20_000, 5000],
    'the store waits until the deadline, and at the end 5 s at least',
  )
  nodes.respond = () => jsonResponse({ error: 1701, message: 'Agent does not exist' })
  t.equal(bodyOf(await write(assign())).error, 1701, 'the manager has changed nothing')
})

t.test('while the store is unreachable, identical reads share the next call and nothing is stored', async (t) => {
  const store: Store = {
    ...unavailable,
    store: async () => {
      t.fail('stored')
    },
    acquireFetchLock: async () => ({ held: true, release: async () => {} }),
    fence: async () => ({ state: 'localOnly', lift: async () => true, keepUntilLeaseEnds: () => {} }),
  }
  const { read, nodes } = replica({ store })
  nodes.respond = async (_, call) => {
    await settle()
    return success(call)
  }
  const first = read(one())
  await settle()
  const others = await Promise.all([first, ...Array.from({ length: 100 }, () => read(one()))])
  t.equal(nodes.calls, 2)
  t.equal(bodyOf(others[100] ?? success(0)).data, 2)
  t.equal(cacheStatusOf(others[0] ?? success(0)), undefined)
  t.equal(bodyOf(await read(one())).data, 3)

  const leaving = new AbortController()
  nodes.respond = async ({ client: { signal } }) => {
    await new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    return success('never')
  }
  const running = read({ ...one(), client: leaving })
  const waiting = read({ ...one(), client: leaving })
  await settle()
  leaving.abort(new Error('left'))
  await Promise.all([t.rejects(async () => running), t.rejects(async () => waiting)])
  await settle()
  t.equal(nodes.calls, 4, 'no call starts if all its clients have disconnected')
  nodes.respond = () => success('again')
  t.equal(bodyOf(await read(one())).data, 'again')
})

t.test(
  'after a write to replicated data, reads of it go to the master only, for two checks of the workers',
  async (t) => {
    const { read, write, nodes, clock, store } = replica()
    const isMasterOnly = async (request = rules()) => {
      await read({ ...request, reuse: 'noCache' })
      return nodes.reads.at(-1)?.copies === 'lagging'
    }
    t.notOk(await isMasterOnly())
    await write(uploadRule())
    t.ok(await isMasterOnly())
    t.notOk(await isMasterOnly(edgeRequest('GET /decoders')), 'other replicated data was not written')
    t.notOk(await isMasterOnly(one()), 'this data is not replicated')
    clock.advance(18_001)
    t.notOk(await isMasterOnly())
    await (await store.fence(['rules'])).lift([])
    t.ok(await isMasterOnly(), 'a write through another replica changes the epoch')
    clock.advance(18_001)
    const fence = await store.fence(['rules'])
    t.ok(await isMasterOnly(), 'and sets a fence')
    await fence.lift([])
  },
)

t.test('a worker may answer for a busy master only while no replica can have written within two checks', async (t) => {
  const { read, write, nodes, clock, store } = replica()
  const mayWorkerAnswer = async (request = rules()) => {
    await read({ ...request, reuse: 'noCache' })
    return nodes.reads.at(-1)?.copies === 'current'
  }
  t.notOk(await mayWorkerAnswer(), 'another replica may have written just before the first lookup')
  clock.advance(18_001)
  t.ok(await mayWorkerAnswer())
  await (await store.fence(['rules'])).lift([])
  t.notOk(await mayWorkerAnswer(), 'another replica has written')
  clock.advance(18_001)
  t.ok(await mayWorkerAnswer())
  await write(uploadRule())
  t.notOk(await mayWorkerAnswer(), 'this replica has written')
  clock.advance(18_001)
  t.ok(await mayWorkerAnswer())
  await read({ ...rules(), reuse: 'noStore' })
  t.equal(nodes.reads.at(-1)?.copies, 'unknown', 'a read that is not looked up')
  await read(edgeRequest('GET /rules/files', { query: { download: 'local_rules.xml' } }))
  t.equal(nodes.reads.at(-1)?.copies, 'unknown', 'a download')
})

t.test(
  'no worker answers for a busy master while Redis is unreachable: writes of other replicas are unknown',
  async (t) => {
    let isReachable = true
    const known = createMemoryStore({ bytes: () => 1 << 20, elapsed: () => 0 })
    const store: Store = {
      ...known,
      lookup: (key, tags) => (isReachable ? known.lookup(key, tags) : { kind: 'unavailable' }),
    }
    const { read, nodes, clock } = replica({ store })
    await read(rules())
    clock.advance(18_001)
    isReachable = false
    await read(rules())
    t.equal(nodes.calls, 2)
    t.equal(nodes.reads.at(-1)?.copies, 'unknown')
  },
)

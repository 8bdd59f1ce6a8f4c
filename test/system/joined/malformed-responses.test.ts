import t, { type Test } from 'tap'
import { startEdge } from '../../support/edge.ts'
import { fakeNode } from '../../unit/upstream/fake-node.ts'

type Data = { readonly items: readonly Readonly<Record<string, unknown>>[]; readonly totalItems: number }
type RespondTo = (url: URL) => unknown

const entry = { timestamp: '2026-11-20 12:00:00', tag: 'own', level: 'info', description: 'it' }
/** What a node without distribution returns under the name of a node. */
const NOT_DISTRIBUTED = { error: 1000, message: 'Internal error' }
const good = (data: unknown) => ({ error: 0, data })

/** A correct master, and a worker with the given responses; texts are sent as they are. */
async function cluster(t: Test, ofWorker: RespondTo) {
  const node = async (respondTo: RespondTo) => {
    return fakeNode(t, (request, response) => {
      const url = new URL(request.url ?? '', 'http://node')
      const content = /^\/cluster\/\w+\/info$/.test(url.pathname) ? NOT_DISTRIBUTED : respondTo(url)
      const text = typeof content === 'string' ? content : JSON.stringify(content)
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(text)
    })
  }
  const master = await node(({ pathname }) => {
    if (pathname === '/agents') return good({ items: [{ id: '000', node_name: 'm', status: 'Active' }], totalItems: 1 })
    return pathname === '/manager/info' ? good({ version: '1' }) : good({ items: [entry], totalItems: 1 })
  })
  const worker = await node(ofWorker)
  const edge = await startEdge({
    nodes: [
      { name: 'm', type: 'master', url: master.url },
      { name: 'w', type: 'worker', url: worker.url },
    ],
    settings: { cluster: { distribution: 'edge', discover: false, limits: { timeout: '5s', slowTimeout: '5s' } } },
  })
  t.teardown(() => edge.close())
  const get = async (path: string) => {
    const response = await fetch(edge.url + path, { headers: { authorization: edge.authorization('admin') } })
    return (await response.json()) as { readonly error: number; readonly data: Data }
  }
  return { get, worker }
}

const without = { data: { totalItems: 1, failed_nodes: [{ node: 'w', error: { code: 925 } }] } }

t.test('a node that returns fewer rows than its total has failed, and is not called again', async (t) => {
  let totalItems = 9e14
  const { get, worker } = await cluster(t, () => good({ items: [entry], totalItems }))
  t.match(await get('/cluster/*/logs?limit=5&wait_for_complete'), without)
  totalItems = 2
  t.match(await get('/cluster/*/logs?limit=5&search=two'), without)
  t.equal(worker.seen.length, 2)
})

t.test('a node that returns more rows than the limit has failed: its next page would repeat them', async (t) => {
  const items = Array.from({ length: 1001 }, () => entry)
  const { get } = await cluster(t, () => good({ items, totalItems: 1001 }))
  t.match(await get('/cluster/*/logs?limit=1000&offset=2'), without)
})

t.test('rows that were removed between two pages end the collection of the node', async (t) => {
  const whole = Array.from({ length: 1000 }, () => ({ ...entry, tag: 'removed' }))
  const { get, worker } = await cluster(t, ({ searchParams }) =>
    searchParams.has('offset') ? good({ items: [], totalItems: 3 }) : good({ items: whole, totalItems: 5000 }),
  )
  const { error, data } = await get('/cluster/*/logs?limit=1000&offset=3')
  t.equal(error, 0)
  t.equal(data.items.length, 998)
  t.notOk('failed_nodes' in data)
  t.equal(worker.seen.length, 2, 'the node is not asked for the pages that it had before')
})

t.test('data that is nested too deeply is an error of its node only', async (t) => {
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  const { get } = await cluster(t, ({ pathname }) => {
    if (pathname === '/manager/info') return `{"error":0,"data":{"version":${deep}}}`
    return `{"error":0,"data":{"items":[{"agent_id":"000","tag":${deep},"name":${deep}}],"totalItems":1}}`
  })
  for (const path of [
    '/cluster/*/info?search=1',
    '/cluster/*/info?sort=version',
    '/cluster/*/logs?sort=tag',
    '/experimental/syscollector/packages?sort=name',
    '/experimental/syscollector/packages?select=name',
  ]) {
    t.match(await get(path), without, path)
  }
})

t.test('rows of a node that fails to sort are sorted by all fields, in front of node_name and behind it', async (t) => {
  const items = ['b', undefined, 'a'].map((tag, at) => ({ ...entry, tag, description: `${at}` }))
  const { get } = await cluster(t, ({ searchParams }) =>
    searchParams.get('sort')?.includes('tag')
      ? { error: 1000, message: 'Internal error' }
      : good({ items, totalItems: 3 }),
  )
  const order = async (sort: string) => {
    const { data } = await get(`/cluster/*/logs?sort=${sort}`)
    return data.items.map(({ node_name, tag }) => `${node_name} ${tag}`)
  }
  t.strictSame(await order('node_name,tag'), ['m own', 'w undefined', 'w a', 'w b'])
  t.strictSame(await order('-node_name,tag'), ['w b', 'w a', 'w undefined', 'm own'])
  t.strictSame(await order('level,node_name,tag'), ['m own', 'w undefined', 'w a', 'w b'])
  t.strictSame(await order('tag,node_name'), ['w undefined', 'w a', 'w b', 'm own'])
  t.strictSame(await order('-tag,node_name,level'), ['m own', 'w b', 'w a', 'w undefined'])
})

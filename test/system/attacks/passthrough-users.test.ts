/**
 * Mode passthrough: users with different rights on the manager share an edge and its cache. No user gets a response of
 * another one, learns of its existence, or removes it, unless a setting gives the user the right by name.
 */
import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { request } from 'undici'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { type RunningEdge, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'

const users = {
  ann: { password: 'ann-pw', roles: ['administrator'] },
  bob: {
    password: 'bob-pw',
    roles: [{ actions: ['agent:read', 'syscollector:read'], resources: ['agent:id:001'] }],
  },
  nil: { password: 'nil-pw' },
} as const

type User = keyof typeof users

const settings = {
  cluster: { layout: 'v4', discover: false, credentials: { mode: 'passthrough', username: null, password: null } },
  access: { users: null, roles: { ann: ['operator'] } },
  cache: { defaultTtl: '1h', ttl: { agents: '1h', syscollector: '1h' } },
}
const URLS = ['/agents', '/agents?limit=2', '/agents?sort=-id', '/agents/001', '/syscollector/001/os'] as const
const PURGES = ['/cache', '/cache/agents', '/cache?tag=agent:001', '/cache?endpoint=/agents', '/cache?key=KEY'] as const

interface Listing {
  readonly all: readonly string[]
}
interface Details {
  readonly totalItems: number
  readonly items: readonly { readonly url: string; readonly key: string; readonly scope: string }[]
}

t.test('two users with different rights and one without any, behind two replicas', async (t) => {
  const simulator = await startSimulator({ layout: 'v4', workers: 1, agents: 6, v4: { users } })
  t.teardown(() => simulator.close())
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const shared = { ...settings, cache: { ...settings.cache, redis: { url: redis.url } } }
  const edges: RunningEdge[] = []
  t.teardown(() => Promise.all(edges.map((edge) => edge.close())))
  for (const _ of [1, 2]) edges.push(await startEdge({ nodes: simulator.nodes, settings: shared, reloads: true }))

  const authorizationOf = (user: User) => `Basic ${btoa(`${user}:${users[user].password}`)}`
  async function send(user: User, path: string, { at = 0, method = 'GET', headers = {} } = {}) {
    const edge = edges[at] as RunningEdge
    // `fetch` would add `Cache-Control: no-cache` to conditional requests.
    const response = await request(edge.url + path, {
      method: method as 'GET',
      headers: { authorization: authorizationOf(user), ...headers },
    })
    const text = await response.body.text()
    const { etag = '', 'cache-status': cache = '' } = response.headers
    const body = text === '' ? {} : JSON.parse(text)
    return { status: response.statusCode, etag: String(etag), cache: String(cache), text, ...body }
  }
  const listed = async (user: User, at = 0) => ((await send(user, '/cache', { at })).data as Listing).all
  const rows = async (user: User, query = '') =>
    (await send(user, `/cache?details=true${query}`, { at: 1 })).data as Details

  // One cold URL, requested by all at the same time: identical fetches are collapsed, those of other users are not.
  const cold = await Promise.all(
    (['ann', 'bob', 'nil', 'ann', 'bob', 'nil'] as const).map((user) => send(user, '/agents')),
  )
  t.same(
    cold.map(({ data }) => data.totalItems),
    [7, 1, 0, 7, 1, 0],
    'nobody joins the fetch of another user',
  )

  const etags = new Map<string, string>()
  for (const user of ['ann', 'bob'] as const) {
    for (const url of URLS) {
      await send(user, url)
      const warm = await send(user, url, { at: 1 })
      t.match(warm, { status: 200, cache: /hit/ }, `${user} ${url}: a hit of the other replica too`)
      etags.set(`${user} ${url}`, warm.etag)
    }
  }
  const bobsUrls = await listed('bob')

  t.test('a condition with the entity tag of another user is not met', async (t) => {
    for (const url of URLS) {
      const tag = etags.get(`ann ${url}`) ?? ''
      const own = await send('ann', url, { headers: { 'if-none-match': tag } })
      t.equal(own.status, 304, `${url}: the own tag`)
      for (const condition of [tag, '*', `"x", ${tag}`]) {
        const plain = await send('nil', url)
        const answered = await send('nil', url, { headers: { 'if-none-match': condition } })
        // A user without rights gets the own empty list (whose own tag may match `*`), or the error of the manager.
        if (plain.status === 200 && condition === '*') t.equal(answered.text, '', url)
        else t.same([answered.status, answered.text], [plain.status, plain.text], `${url} ${condition}`)
      }
    }
  })

  t.test('the listing and explain show the own responses only', async (t) => {
    for (const url of ['/agents?limit=2&', '/agents/001', '/syscollector/001/os']) {
      t.ok(
        bobsUrls.some((own) => own.startsWith(url)),
        `bob is shown the own ${url}`,
      )
    }
    const annsOnly = '/agents?search=known-to-ann-alone'
    await send('ann', annsOnly)
    for (const at of [0, 1]) t.notOk((await listed('bob', at)).some((url) => url.includes('known-to-ann')))
    t.same(
      new Set((await rows('bob')).items.map(({ url }) => url)),
      new Set(await listed('bob', 1)),
      'details show the same',
    )
    for (const query of ['&search=known-to-ann', '&sort=-hits&search=known', '&endpoint=/nowhere']) {
      t.same(await rows('bob', query), { items: [], totalItems: 0 }, query)
    }
    const page = await rows('bob', '&limit=1')
    t.equal(page.items.length, 1)
    t.equal(page.totalItems, (await rows('bob')).totalItems, 'a total counts the own responses only')
    const counted = await send('bob', '/cache', { headers: { prefer: 'return=minimal' } })
    t.equal(counted.data.all, page.totalItems)

    const explained = async (user: User) =>
      (await send(user, `/cache/explain?url=${encodeURIComponent(annsOnly)}`)).data as { key: string; next: object }
    const [own, foreign] = [await explained('ann'), await explained('bob')]
    t.match(own.next, { hit: true })
    t.not(foreign.key, own.key)
    const neverStored = '/agents?search=never-requested'
    const unknown = await send('bob', `/cache/explain?url=${encodeURIComponent(neverStored)}`)
    t.same(foreign.next, unknown.data.next, 'a response of another user is explained as one that does not exist')
  })

  t.test('a user without rights purges nothing and lists nothing of others', async (t) => {
    const key = (await rows('ann', '&search=/agents/001')).items[0]?.key ?? ''
    t.match(key, /^[\w-]{43}$/)
    const before = await send('ann', '/agents/001')
    for (const path of PURGES) {
      for (const options of ['', 'soft=true', 'preview=true']) {
        const url = path.replace('KEY', key) + (options === '' ? '' : `${path.includes('?') ? '&' : '?'}${options}`)
        for (const user of ['nil', 'bob'] as const) {
          const refused = await send(user, url, { method: 'DELETE' })
          t.match(refused, { status: 403, error: 902, message: /cache:purge/ }, `${user} DELETE ${url}`)
        }
      }
    }
    const scopesOf = async (user: User) => [...new Set((await rows(user)).items.map(({ scope }) => scope))]
    t.ok((await scopesOf('ann')).length >= 3, 'with cache:read, those of all')
    // The refusals that nil got are stored for nil alone.
    const [own, bobs] = [await scopesOf('nil'), await scopesOf('bob')]
    t.match([own.length, bobs.length], [1, 1])
    t.not(own[0], bobs[0])
    for (const directive of ['no-cache', 'no-store', 'max-age=0']) {
      const answered = await send('bob', '/agents/001', { headers: { 'cache-control': directive } })
      t.match(answered.cache, /hit/, `${directive} of a user without cache:purge is ignored`)
    }
    const after = await send('ann', '/agents/001')
    t.match(after, { cache: /hit/, etag: before.etag }, 'nothing was purged')
    for (const path of ['/api/entries', '/api/requests', '/api/nodes', '/metrics', '/openapi.json']) {
      const { status } = await fetch(`${edges[0]?.operationsUrl}${path}`, {
        headers: { authorization: authorizationOf('nil'), accept: 'application/json' },
      })
      t.equal(status, 403, `operations listener, ${path}`)
    }
  })

  t.test('a setting gives more by name, and takes it back at a reload', async (t) => {
    t.ok((await listed('ann')).length > bobsUrls.length, 'ann sees the responses of all')
    t.equal((await send('ann', '/cache/agents', { method: 'DELETE' })).status, 200)
    t.equal((await send('ann', '/manager/restart', { method: 'PUT' })).status, 200, 'the manager authorises the rest')
    const file = `${edges[0]?.folder}/edge.yaml`
    const text = await readFile(file, 'utf8')
    await writeFile(file, text.replace(/ann:\n\s+- operator/, 'bob: [operator]'))
    await edges[0]?.edge.reload()
    await eventually(async () => (await send('ann', '/cache', { method: 'DELETE' })).status === 403)
    t.equal((await send('bob', '/cache', { method: 'DELETE' })).status, 200)
  })
})

/** Two complete edges with one Redis: a stored response is not served to a caller whose access was revoked. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { createKeyFile } from '../../../src/access/signing-keys.ts'
import { removeUser } from '../../../src/access/users-file.ts'
import { buildEdge } from '../../../src/app/index.ts'
import { loadConfig } from '../../../src/config/index.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { folder, passwords, usersFile } from './edge.ts'

const basic = (name: keyof typeof passwords) => `Basic ${Buffer.from(`${name}:${passwords[name]}`).toString('base64')}`
const stored = '/agents?limit=2'

t.test('a revoked caller gets no cache hit, on any replica', async (t) => {
  const redis = await startRedis()
  const simulator = await startSimulator({ workers: 0, agents: 5, username: 'edge', password: 'only-for-tests' })
  const file = join(await folder(t), 'edge.yaml')
  const keys = await folder(t)
  await createKeyFile(keys, () => new Date('2026-01-01'))
  const users = await usersFile(t)
  const nodes = simulator.nodes.map(({ name, type, url }) => ({ name, type, url }))
  const settings = {
    listen: { port: 0, drain: { delay: '0s', limit: '2s' } },
    operations: { port: 0 },
    cluster: { nodes, credentials: { username: 'edge', password: 'only-for-tests' } },
    // A long timeout, because other tests keep the machine busy. No stored response expires during this test.
    cache: { redis: { url: redis.url, timeout: '500ms' }, ttl: { agents: '10m' } },
    access: { users, roles: { alice: ['administrator'], bob: ['reader'] }, tokens: { keys } },
  }
  await writeFile(file, JSON.stringify(settings))
  const start = async () => {
    const loaded = await loadConfig({ file, env: {} })
    if (!loaded.ok) throw new Error(loaded.faults.join('\n'))
    const logTo = new Writable({ write: (_line, _encoding, done) => done() })
    const edge = await buildEdge(loaded.config, { load: () => loadConfig({ file, env: {} }), logTo })
    return { edge, ...(await edge.start()) }
  }
  const edges = [await start(), await start()]
  t.teardown(async () => {
    await Promise.all(edges.map(({ edge }) => edge.drain(0)))
    await Promise.all([redis.close(), simulator.close()])
  })
  const ask = (url: string, authorization: string, path = stored, method = 'GET') =>
    fetch(`${url}${path}`, { method, headers: { authorization } })
  const token = async (name: keyof typeof passwords) => {
    const reply = await ask(edges[0]?.url ?? '', basic(name), '/security/user/authenticate', 'POST')
    return `Bearer ${((await reply.json()) as { data: { token: string } }).data.token}`
  }
  /** The statuses of all replicas, for a stored response and for one that is not stored. */
  const statuses = async (authorization: string) => {
    const paths = [stored, `/agents?search=${Math.random().toString(36).slice(2)}`]
    const replies = await Promise.all(edges.flatMap(({ url }) => paths.map((path) => ask(url, authorization, path))))
    await Promise.all(replies.map((reply) => reply.arrayBuffer()))
    return [...new Set(replies.map(({ status }) => status))]
  }

  const [bobs, alices] = [await token('bob'), await token('alice')]
  t.strictSame(await statuses(bobs), [200])
  t.match((await ask(edges[1]?.url ?? '', bobs)).headers.get('cache-status'), 'hit')

  await t.test('a revoked token', async (t) => {
    t.equal((await ask(edges[0]?.url ?? '', bobs, '/security/user/authenticate', 'DELETE')).status, 200)
    await eventually(async () => `${await statuses(bobs)}` === '401')
    t.strictSame(await statuses(alices), [200], 'other tokens stay valid')
  })

  await t.test('a removed role', async (t) => {
    await writeFile(file, JSON.stringify({ ...settings, access: { ...settings.access, roles: { bob: ['reader'] } } }))
    await eventually(async () => `${await statuses(alices)}` === '403')
    t.strictSame(await statuses(basic('bob')), [200])
  })

  await t.test('a removed user', async (t) => {
    await removeUser(users, 'bob')
    const refused = async () => (await statuses(basic('bob'))).every((status) => status === 401 || status === 429)
    await eventually(refused)
    t.ok(await refused())
  })
})

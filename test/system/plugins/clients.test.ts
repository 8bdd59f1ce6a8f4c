/** A plugin of the client listener: behind admission, and its hooks see each request of the contract. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { simulated } from '../../support/simulated.ts'
import { pluginFolder } from './folder.ts'

const HOOKS = `
export default async function team(app, { edge }) {
  let count = 0
  app.addHook('onSend', async (request, reply) => { reply.header('x-count', String((count += 1))) })
}
team[Symbol.for('skip-override')] = true`

const ROUTES = `
export default async function (app, { edge }) {
  app.get('/team/who', async ({ caller, query }) => ({ name: caller.name, query, edge: edge.name }))
  app.get('/team/keys', { config: { permission: 'security:write' } }, async () => 'keys')
  app.post('/team/notes', async ({ body }) => ({ bytes: body.length }))
  app.get('/team/fails', async () => { throw new Error('a fault of the plugin') })
  const properties = { page: { type: 'integer' } }
  app.get('/team/pages', { schema: { querystring: { type: 'object', properties } } }, async () => 'page')
}`

const settings = async (folder: string, source: string, more: object = {}) => {
  const file = join(folder, 'team.mjs')
  await writeFile(file, source)
  return {
    settings: { plugins: [{ file, listener: 'clients' }], cache: { ttl: { agents: '10m' } }, ...more },
  }
}

for (const port of ['url', 'secondUrl'] as const)
  t.test(`routes of a plugin at ${port}`, async (t) => {
    const world = { layout: 'v4', workers: 1, agents: 3 } as const
    const more = { listen: { secondPort: 0 }, cluster: { layout: 'v4', discover: false } }
    const { edge } = await simulated(t, world, await settings(await pluginFolder(t), ROUTES, more))
    const get = (path: string, user: string, init: RequestInit = {}) =>
      fetch(`${edge[port]}${path}`, { ...init, headers: { authorization: edge.authorization(user) } })
    t.equal((await fetch(`${edge[port]}/team/who`)).status, 401)
    const who = await get('/team/who?a=1', 'reader')
    t.match(await who.json(), { name: 'reader', query: { a: '1' }, edge: String })
    t.match(who.headers.get('x-request-id'), /^[0-9a-f-]{36}$/)
    t.equal((await get('/team/keys', 'reader')).status, 403)
    t.equal((await get('/team/keys', 'admin')).status, 200)
    t.strictSame(await (await get('/team/notes', 'reader', { method: 'POST', body: 'note' })).json(), { bytes: 4 })
    t.equal((await get('/team/pages?page=x', 'reader')).status, 400)
    const failed = await get('/team/fails', 'reader')
    t.equal(failed.status, 500)
    t.match(await failed.json(), port === 'url' ? { error: 949, message: String } : { error: 949, title: String })
    const login = await get('/security/user/authenticate', 'reader', { method: 'POST' })
    t.equal(login.status, 200, 'other routes are served')
    t.equal((await get('/team/nothing', 'reader')).status, 404)
  })

t.test('hooks of a plugin see each request, hits too', async (t) => {
  const { edge } = await simulated(t, { workers: 1, agents: 3 }, await settings(await pluginFolder(t), HOOKS))
  const headers = { authorization: edge.authorization('reader') }
  for (const count of [1, 2, 3, 4]) {
    const response = await fetch(`${edge.url}/agents?limit=1`, { headers })
    if (count > 1) t.match(response.headers.get('cache-status'), /; hit/)
    t.equal(response.headers.get('x-count'), String(count))
  }
  t.match(edge.edge.plugins, [/^plugins\[0\]\.file: \S+team\.mjs \(clients; its hooks switch prepared hits off\)$/])
})

t.test('hooks for its own routes switch no prepared hits off', async (t) => {
  const folder = await pluginFolder(t)
  const own = HOOKS.replace(/^team\[.*/m, '')
  const { edge } = await simulated(t, { workers: 1, agents: 3 }, await settings(folder, own))
  t.match(edge.edge.plugins, [/^plugins\[0\]\.file: \S+team\.mjs \(clients\)$/])
})

t.test('an asynchronous error of a plugin ends the process', async (t) => {
  const folder = await pluginFolder(t)
  await writeFile(
    join(folder, 'team.mjs'),
    "export default async () => { setTimeout(() => { throw new Error('late fault') }, 1) }",
  )
  await writeFile(join(folder, 'users'), '')
  const lines = [
    'listen: { port: 0 }',
    'operations: { port: 0 }',
    'cluster: { nodes: [{ name: m, type: master, url: "http://127.0.0.1:1" }], credentials: { username: edge, password: secret } }',
    'access: { users: users }',
    'plugins: [{ file: team.mjs, listener: clients }]',
  ]
  await writeFile(join(folder, 'edge.yaml'), lines.join('\n'))
  const register = '--import=./test/support/typescript/register.mjs'
  const run = promisify(execFile)(process.execPath, [
    register,
    'src/cli.ts',
    'start',
    '--config',
    join(folder, 'edge.yaml'),
  ])
  const { code, stderr, stdout } = (await run.catch((error: unknown) => error)) as Record<string, string | number>
  t.equal(code, 1)
  t.match(`${stderr}${stdout}`, /late fault/)
})
